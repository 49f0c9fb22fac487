"""A chaos experiment: supervised workers, tasks that become due one by one, and faults in between."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness import PATIENCE, Process, Stand, base_dir, eventually, python

_TABLES = (
    "taskinfo", "taskinfo_logs", "taskinfo_workers", "probe_effect",
    "articles_article", "articles_revision", "articles_update", "articles_auditentry", "articles_notification",
    "articles_release", "articles_releasemember", "articles_correction",
)  # fmt: skip
_LEAD = 4.0  # seconds for storing the tasks, so that none is due before all are stored
EXECUTED = 1
CANCELLED = 2
FAILED = 3
PUBLISHED = 9

Fault = Callable[["Trial"], None]
"""Something that happens in the middle of a trial; returns when it is over."""


@dataclass(frozen=True)
class Report:
    """Results of the tasks."""

    tasks: int
    lost: int  #: still pending, or without their effect
    doubled: int  #: with more than one effect
    early: int


class Trial:
    """A run of some seconds on a stand; use `run`, then `report`."""

    def __init__(
        self,
        stand: Stand,
        *,
        tasks: int = 0,
        seconds: float = 0,
        env: dict[str, str] | None = None,
        processes: int = 2,
        source: Path = base_dir,
    ) -> None:
        """`env` has further environment variables of the workers, `processes` is their number, `source` their code."""
        self.stand = stand
        self.source = source
        self.env = env or {}
        self.tasks = tasks
        self.seconds = seconds
        self.processes = processes
        self.workers: Process
        self.fault_ended = 0.0
        self._processes = ExitStack()

    def run(self, faults: Sequence[Fault]) -> None:
        """Empty the stores, let the tasks become due, do the faults one after the other, wait for the end."""
        self.reset()
        with self._processes:  # so that none lives on in the next trial
            self._run(faults)

    def _run(self, faults: Sequence[Fault]) -> None:
        self.start_workers()
        kinds = ("articles.publish", "probe.note")
        steady = {"count": self.tasks // 2, "lead": _LEAD, "over": self.seconds}
        begin = self.load(*({"task_type": task_type, **steady} for task_type in kinds))
        time.sleep(max(0.0, begin - time.time()) + 0.25 * self.seconds)
        for fault in faults:
            fault(self)
        self.fault_ended = time.time()
        eventually(self._is_over, self.seconds + PATIENCE, "tasks are still pending")
        assert self.workers.stop() == 0, self.workers.output

    def load(self, *kinds: dict[str, Any]) -> float:
        """Store tasks; see `tests.chaos.load`. Returns when the first is due."""
        return float(self.stand.run("tests.chaos.load", json.dumps(kinds)))

    def add(self, task_type: str, count: int, **values: Any) -> None:
        """Store tasks that are due now."""
        self.load({"task_type": task_type, "count": count, **values})

    def start_workers(self) -> None:
        """Start the supervised workers and wait until each runs."""
        self.workers = self.start("manage.py", "poll", "--forever", "--processes", str(self.processes))
        eventually(lambda: self.workers.output.count(" runs ") >= self.processes or not self.workers.alive())
        assert self.workers.alive(), self.workers.output

    def start(self, *command: str) -> Process:
        """A Python process on the stand, with the workers' environment and code."""
        if self.source == base_dir:
            return self._processes.enter_context(self.stand.start(*command, env=self.env))
        environment = {**self.stand.environment, **self.env}
        return self._processes.enter_context(Process([python, "-u", *command], env=environment, cwd=self.source))

    def end(self) -> None:
        """End the processes."""
        self._processes.close()

    def report(self) -> Report:
        """Read the results from the database."""
        (tasks,) = self._row("SELECT COUNT(*) FROM taskinfo_logs")
        return Report(tasks, self._lost(), self._doubled(), self._early())

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
        open_or_failed = "SELECT COUNT(*) FROM taskinfo_logs WHERE status NOT IN (%s, %s)"
        without_effect = (
            "SELECT COUNT(*) FROM taskinfo_logs l LEFT JOIN probe_effect e ON e.task_id = l.task_id"
            " WHERE l.task_type LIKE 'probe.%%' AND l.status = %s AND e.id IS NULL"
        )
        unpublished = "SELECT COUNT(*) FROM articles_article WHERE status <> %s OR published_at IS NULL"
        unrecorded = (
            "SELECT COUNT(*) FROM articles_article a LEFT JOIN articles_auditentry e"
            " ON e.article_id = a.id AND e.new_status = %s WHERE e.id IS NULL"
        )
        queries = (
            (open_or_failed, EXECUTED, CANCELLED),
            (without_effect, EXECUTED),
            (unpublished, PUBLISHED),
            (unrecorded, PUBLISHED),
        )
        return sum(self._row(*query)[0] for query in queries)

    def _doubled(self) -> int:
        (effects,) = self._row("SELECT COUNT(*) - COUNT(DISTINCT task_id) FROM probe_effect")
        (cancelled,) = self._row(
            "SELECT COUNT(*) FROM taskinfo_logs l JOIN probe_effect e ON e.task_id = l.task_id WHERE l.status = %s",
            CANCELLED,
        )
        (published,) = self._row(
            "SELECT COUNT(*) - COUNT(DISTINCT article_id) FROM articles_auditentry WHERE new_status = %s", PUBLISHED
        )
        # Each change of a record raises its version: 2 means that it was closed once.
        closed = self.stand.rows("SELECT task_id FROM taskinfo_logs WHERE status = %s AND version <> 2", EXECUTED)
        return int(effects + cancelled + published) + len(closed)

    def _early(self) -> int:
        queries = (
            "SELECT COUNT(*) FROM taskinfo_logs WHERE executed_at < execute_time",
            "SELECT COUNT(*) FROM taskinfo_logs l JOIN probe_effect e ON e.task_id = l.task_id WHERE at < execute_time",
            "SELECT COUNT(*) FROM articles_article WHERE published_at < publish_at",
        )
        return sum(self._row(sql)[0] for sql in queries)
