"""Calls of Dramatiq a second, as JSON: `dramatiq_calls ONES MANY`; it can neither add many at once nor cancel."""

from __future__ import annotations

import json
import sys

from bench.peers.dramatiq_app import publish
from bench.rates import rate

HOUR = 3_600_000  # milliseconds


def main(ones: int, _many: int) -> None:
    """Measure and print."""
    publish.send_with_options(args=(1,), delay=HOUR)  # connects
    add = rate(ones, lambda: [publish.send_with_options(args=(1,), delay=HOUR) for _ in range(ones)])
    print(json.dumps({"add one": add}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
