"""Making 10,000 due hints ready: by the queue's Lua script in batches, and one by one (R1.8).

`python -m bench.promote` starts servers of its own.
"""

from __future__ import annotations

import argparse

from bench.figures import table
from bench.stand import keep, machine, stand
from tests.harness import base_dir


def main() -> None:
    """Measure in a process of its own, print both and how they compare."""
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
    print(f"Kept in {keep('promote', took | {'ratio': ratio}).relative_to(base_dir)}")


if __name__ == "__main__":
    main()
