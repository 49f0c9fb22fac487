"""One experiment: supervised workers, tasks that become due one after the other, and a fault in the middle of it."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from tests.chaos.faults import Fault
from tests.harness import Process, Stand, eventually

_TABLES = ("taskinfo", "taskinfo_logs", "probe_effect", "articles_article", "articles_revision", "articles_update")
_LEAD = 4.0  # seconds for storing the tasks and starting the workers
_PROCESSES = 2
_PATIENCE = 60.0  # seconds after the last due time in which everything must have run
EXECUTED = 1
FAILED = 3


@dataclass(frozen=True)
class Report:
    """What became of the tasks; times are in milliseconds, lateness the most of those due in that span."""

    tasks: int
    lost: int  #: still pending, or without their effect
    doubled: int  #: with more than one effect
    early: int
    before: float  #: lateness of what was due before the fault
    during: float
    after: float
    in_hand: float  #: from the end of the fault until a batch that was in hand then is done


class Trial:
    """A run of some seconds on a stand; use `run`, then `report`."""

    def __init__(self, stand: Stand, *, tasks: int, seconds: float, env: dict[str, str] | None = None) -> None:
        """`env` is what the workers find different in their environment."""
        self.stand = stand
        self.env = env or {}
        self.tasks = tasks
        self.seconds = seconds
        self.workers: Process
        self.fault_began = self.fault_ended = 0.0

    def run(self, faults: Sequence[Fault]) -> None:
        """Empty the stores, let the tasks become due, do the faults one after the other, wait for the end."""
        self.reset()
        begin = time.time() + _LEAD
        self.load(
            {"task_type": "articles.publish", "count": self.tasks // 2, "due": begin, "over": self.seconds},
            {"task_type": "probe.note", "count": self.tasks // 2, "due": begin, "over": self.seconds},
        )
        self.start_workers()
        time.sleep(max(0.0, begin - time.time()) + 0.25 * self.seconds)
        self.fault_began = time.time()
        for fault in faults:
            fault(self)
        self.fault_ended = time.time()
        eventually(self._is_over, self.seconds + _PATIENCE, "tasks are still pending")
        assert self.workers.stop() == 0, self.workers.output

    def load(self, *kinds: dict[str, Any]) -> None:
        """Store tasks; see `tests.chaos.load`."""
        self.stand.run("tests.chaos.load", json.dumps(kinds))

    def add(self, task_type: str, count: int, **values: Any) -> None:
        """Store tasks that are due now."""
        self.load({"task_type": task_type, "count": count, "due": time.time(), **values})

    def start_workers(self) -> None:
        """Start the supervised workers and wait until each runs."""
        command = ("manage.py", "poll", "--forever", "--processes", str(_PROCESSES))
        self.workers = self.stand.start(*command, env=self.env)
        eventually(lambda: self.workers.output.count(" runs ") >= _PROCESSES, 30, self.workers.output)

    def report(self) -> Report:
        """Ask the database what happened."""
        (tasks,) = self._row("SELECT COUNT(*) FROM taskinfo_logs")
        before, during, after = self._lateness()
        return Report(tasks, self._lost(), self._doubled(), self._early(), before, during, after, self._in_hand())

    def reset(self) -> None:
        """Empty the stores."""
        connection = self.stand.connect()
        with connection.cursor() as cursor:
            cursor.execute("SET foreign_key_checks = 0")
            for table in _TABLES:
                cursor.execute(f"TRUNCATE {table}")
        connection.close()
        self.stand.queue().flushall()

    def _is_over(self) -> bool:
        return time.time() > self.fault_ended and self._row("SELECT COUNT(*) FROM taskinfo") == (0,)

    def _row(self, sql: str, *arguments: object) -> tuple[Any, ...]:
        (row,) = self.stand.rows(sql, *arguments)
        return row

    def _lost(self) -> int:
        (open_or_failed,) = self._row("SELECT COUNT(*) FROM taskinfo_logs WHERE status <> %s", EXECUTED)
        (without_effect,) = self._row(
            "SELECT COUNT(*) FROM taskinfo_logs l LEFT JOIN probe_effect e ON e.task_id = l.task_id"
            " WHERE l.task_type LIKE 'probe.%%' AND e.id IS NULL"
        )
        (unpublished,) = self._row("SELECT COUNT(*) FROM articles_article WHERE status <> 9 OR published_at IS NULL")
        return int(open_or_failed + without_effect + unpublished)

    def _doubled(self) -> int:
        (effects,) = self._row("SELECT COUNT(*) - COUNT(DISTINCT task_id) FROM probe_effect")
        # Each change of a record raises its version: 2 means that it was closed once.
        (records,) = self._row("SELECT COUNT(*) FROM taskinfo_logs WHERE status = %s AND version <> 2", EXECUTED)
        return int(effects + records)

    def _early(self) -> int:
        queries = (
            "SELECT COUNT(*) FROM taskinfo_logs WHERE executed_at < execute_time",
            "SELECT COUNT(*) FROM taskinfo_logs l JOIN probe_effect e ON e.task_id = l.task_id WHERE at < execute_time",
            "SELECT COUNT(*) FROM articles_article WHERE published_at < publish_at",
        )
        return sum(self._row(sql)[0] for sql in queries)

    def _lateness(self) -> list[float]:
        sql = (
            "SELECT COALESCE(MAX(TIMESTAMPDIFF(MICROSECOND, execute_time, executed_at)), 0) / 1000 FROM taskinfo_logs"
            " WHERE task_type <> 'probe.slow' AND execute_time >= %s AND execute_time < %s"
        )
        instants = [datetime.fromtimestamp(at, UTC) for at in (0, self.fault_began - 0.1, self.fault_ended, 2**31)]
        return [float(self._row(sql, *span)[0]) for span in pairwise(instants)]

    def _in_hand(self) -> float:
        (done,) = self._row("SELECT MAX(executed_at) FROM taskinfo_logs WHERE task_type = 'probe.slow'")
        return 1000 * (done.replace(tzinfo=UTC).timestamp() - self.fault_ended) if done else 0.0
