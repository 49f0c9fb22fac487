"""Benchmark subprocess: costs of calls of the engine in milliseconds, as JSON."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import django

django.setup()

from scheduling import registry  # noqa: E402 (the engine needs a Django that is set up)
from scheduling.database import read_database_clock  # noqa: E402
from scheduling.services import add_task, cancel_key, cancel_task, poll, refresh, run_due, sweep  # noqa: E402

TYPE = "bench.cost"
OUTSIDE = "bench.outside"  # a type that has no handler here
HOUR = timedelta(hours=1)

Costs = dict[str, list[float]]


def main(repetitions: int) -> None:
    """Measure each call `repetitions` times; refresh a tenth as often."""
    logging.disable(logging.INFO)
    registry.handler(TYPE)(lambda tasks: None)
    costs: Costs = {}
    warm_up: Costs = {}
    for number in range(repetitions + 20):
        one_of_each(costs if number >= 20 else warm_up, number)
    for _ in range(max(repetitions // 10, 1)):
        timed(costs, "refresh, a pass", refresh)
        timed(costs, "sweep, nothing overdue", sweep)
    print(json.dumps(costs))


def one_of_each(costs: Costs, number: int) -> None:
    """The life of some tasks."""
    now = read_database_clock()
    later: dict[str, Any] = {"execute_time": now + HOUR, "parameters": {"number": number}}
    task = timed(costs, "add_task", lambda: add_task(TYPE, **later))
    timed(costs, "cancel_task", lambda: cancel_task(task.task_id))
    timed(costs, "add_task with key", lambda: add_task(TYPE, key="the key", **later))
    timed(costs, "cancel_key", lambda: cancel_key(TYPE, "the key"))
    add_task(TYPE, execute_time=now, parameters=None)
    assert timed(costs, "run_due of one", lambda: run_due(1)) == 1
    leased = add_task(OUTSIDE, execute_time=now, parameters=None)
    timed(costs, "poll of one", lambda: poll(OUTSIDE))
    cancel_task(leased.task_id)
    timed(costs, "poll, empty", lambda: poll(OUTSIDE))


def timed(costs: Costs, name: str, call: Callable[[], Any]) -> Any:
    """Call, and record the duration."""
    began = time.perf_counter()
    result = call()
    costs.setdefault(name, []).append((time.perf_counter() - began) * 1000)
    return result


if __name__ == "__main__":
    main(int(sys.argv[1]))
