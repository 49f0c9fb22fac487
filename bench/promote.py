"""Promotion of 10,000 due hints: by the Lua script in batches, and one by one (R1.8).

`python -m bench.promote` starts servers of its own.
"""

from __future__ import annotations

import argparse

from bench.figures import table
from bench.stand import machine, save, stand
from tests.harness import base_dir


def main() -> None:
    """Measure in a separate process and print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hints", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with stand() as servers:
        took = servers.run("bench.promoting", options.hints, options.rounds)
    print(f"{options.hints} due hints made ready, median of {options.rounds} rounds, on {machine()}.\n")
    ratio = took["one by one"] / took["in batches"]
    print(table([(name, f"{milliseconds:.1f}") for name, milliseconds in took.items()], ("", "ms")))
    print(f"\nIn batches is {ratio:.0f} times as fast.")
    print(f"Saved in {save('promote', took | {'ratio': ratio}).relative_to(base_dir)}")


if __name__ == "__main__":
    main()
