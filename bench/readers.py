"""Readers' pages, cached and built, compared with a bare Django view: `python -m bench.readers`.

Both run behind gunicorn with the same options and are asked in turn with wrk, so that whatever else the machine does
hits both alike.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench.figures import table
from bench.stand import machine, save, stand
from tests.harness import Process, Stand, base_dir, eventually, free_port

BARE = "bare view"
OPTIONS = ("--workers", "2", "--threads", "4", "--no-control-socket")
CONNECTIONS = 8


def main() -> None:
    """Load, measure in turn, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--articles", type=int, default=20, help="with covers")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=4, help="of requests to each page in a round")
    parser.add_argument("--repetitions", type=int, default=100, help="builds of each page")
    options = parser.parse_args()
    print(f"{options.articles} articles with covers, on {machine()}.\n")
    with stand() as servers:
        pages = servers.run("bench.reader_pages", "load", options.articles)
        warm = measure(servers, pages, options.rounds, options.seconds)
        cold = servers.run("bench.reader_pages", "cold", options.repetitions)
    print(report_warm(warm), report_cold(cold), sep="\n")
    print(f"Saved in {save('readers', {'warm': warm, 'cold': cold}).relative_to(base_dir)}")


def measure(servers: Stand, pages: dict[str, str], rounds: int, seconds: int) -> dict[str, dict[str, list[float]]]:
    """Requests a second, and milliseconds of the servers' processors for each, by page."""
    bare, ours = serve(servers, "bench.bare_view"), serve(servers, "headline.wsgi")
    asked = [(BARE, bare, "/"), *((name, ours, address) for name, address in pages.items())]
    samples: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name, *_ in asked}
    for _, (_, url), address in asked:
        eventually(partial(is_served, url + address))
    for _ in range(rounds):
        for name, (process, url), address in asked:
            before = cpu_seconds(process)
            count = load(f"{url}{address}", seconds)
            samples[name]["rate"].append(count / seconds)
            samples[name]["cpu"].append(1000 * (cpu_seconds(process) - before) / count)
    return samples


def serve(servers: Stand, application: str) -> tuple[Process, str]:
    """Start gunicorn; the process, and the URL."""
    address = f"127.0.0.1:{free_port()}"
    process = servers.start(
        "-m", "gunicorn", application, "--bind", address, *OPTIONS, env={"SITE_URL": f"http://{address}"}
    )
    process.wait_for("Booting worker")
    return process, f"http://{address}"


def is_served(url: str) -> bool:
    """Whether the first request succeeds; it also fills the cache."""
    with urlopen(url, timeout=30) as response:  # noqa: S310 (ours)
        return bool(response.status == 200)


def load(url: str, seconds: int) -> int:
    """How many requests wrk completes."""
    command = ["wrk", "--threads", "1", "--connections", str(CONNECTIONS), "--duration", str(seconds), url]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    completed = re.search(r"(\d+) requests in", output)
    if completed is None or "Non-2xx" in output:
        raise SystemExit(f"wrk {url}: {output}")
    return int(completed[1])


def cpu_seconds(process: Process) -> float:
    """User and system time so far of gunicorn's workers."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    fields = [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split() for child in children]
    return sum(int(one[11]) + int(one[12]) for one in fields) / os.sysconf("SC_CLK_TCK")


def report_warm(warm: dict[str, dict[str, list[float]]]) -> str:
    """Medians, and the median ratio to the bare view of the same round."""
    rows = []
    for name, measured in warm.items():
        ratios = [one / bare for one, bare in zip(measured["rate"], warm[BARE]["rate"], strict=True)]
        rows.append((
            name,
            f"{statistics.median(measured['rate']):.0f}",
            f"{100 * statistics.median(ratios):.0f} %",
            f"{100 * min(ratios):.0f}–{100 * max(ratios):.0f} %",
            f"{statistics.median(measured['cpu']):.3f}",
        ))  # fmt: skip
    return table(rows, ("cached", "requests/s", "of bare", "spread", "CPU ms")) + "\n"


def report_cold(cold: dict[str, Any]) -> str:
    """The cost of each page without the cache."""
    rows = []
    for name, page in cold.items():
        times = page["milliseconds"]
        rows.append((name, page["bytes"], page["statements"], f"{statistics.median(times):.1f}", f"{min(times):.1f}"))
    return table(rows, ("built", "bytes", "statements", "median ms", "fastest")) + "\n"


if __name__ == "__main__":
    main()
