"""Runs the measures and writes var/benchmarks.md."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.measure import Measure, Results
from bench.measures import MEASURES
from bench.report import judged, medians, ratios, write, write_section
from bench.runner import run
from bench.stand import Servers, machine
from bench.versions import versions
from tests.harness import base_dir

PAGE = base_dir / "var" / "benchmarks.md"


def main() -> None:
    """Read the arguments, measure, print and write."""
    options = _options()
    chosen = choose(options.measures, large=options.large)
    began = time.monotonic()
    failed = []
    with Servers(scale=options.scale) as servers:
        used = versions(servers)
        print(f"{', '.join(measure.name for measure in chosen)} on {machine()}; {used}", flush=True)
        write_section(options.page, "versions", f"Versions: {used}.")
        for measure in chosen:
            results = timed(measure, servers, options.rounds)
            failed += [f"{measure.name}: {name}" for name, rounds in results.items() if not rounds]
            if any(results.values()):
                write(options.page, measure, results, note(options.rounds, options.scale))
            else:
                failed.append(measure.name)
    print(f"All took {(time.monotonic() - began) / 60:.1f} minutes; written to {options.page}")
    if failed:
        raise SystemExit(f"without results: {'; '.join(failed)}")


def timed(measure: Measure, servers: Servers, rounds: int) -> Results:
    """Run a measure, and print its tables and how long it took."""
    began = time.monotonic()
    results = run(measure, servers, rounds)
    if any(results.values()):
        goals = "\n".join(judged(measure, results))
        print(f"\n{medians(measure, results)}\n\n{ratios(measure, results)}\n\n{goals}")
    print(f"{measure.name} took {time.monotonic() - began:.0f} s", flush=True)
    return results


def _options() -> argparse.Namespace:
    names = ", ".join(measure.name for measure in MEASURES)
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "--measures", default="", help=f"names with commas between: {names}; default: all but large ones"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="also those that take long")
    parser.add_argument("--scale", type=float, default=1.0, help="factor for all counts, such as 0.05 for a quick look")
    parser.add_argument("--page", type=Path, default=PAGE)
    return parser.parse_args()


def choose(names: str, *, large: bool) -> Sequence[Measure]:
    """The measures with these names; without names all, the large ones if asked for. Exits on an unknown name."""
    wanted = {name.strip() for name in names.split(",")} - {""}
    if unknown := wanted - {measure.name for measure in MEASURES}:
        known = ", ".join(measure.name for measure in MEASURES)
        raise SystemExit(f"no such measure: {', '.join(sorted(unknown))}. There are: {known}")
    if wanted:
        return [measure for measure in MEASURES if measure.name in wanted]
    return [measure for measure in MEASURES if large or not measure.is_large]


def note(rounds: int, scale: float) -> str:
    """When and where a section was measured."""
    scaled = "" if scale == 1 else f", counts × {scale:g}"
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {machine()}, up to {rounds} rounds{scaled}."


if __name__ == "__main__":
    main()
