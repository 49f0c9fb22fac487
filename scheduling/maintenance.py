"""The periodic work beside a worker: sweep, refresh and prune in one thread, the heartbeat in another.

Neither delays a task that is due: the worker's thread does nothing but take, run and sleep. A refresh that waits for
locks delays no heartbeat, which tells others that the worker lives and what the database refuses.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Self

from django.db import connections

from scheduling.breakers import Breakers, outline
from scheduling.clock import clock
from scheduling.conf import conf
from scheduling.models import WorkerHeartbeat
from scheduling.queues import DelayQueue
from scheduling.services.pruning import prune
from scheduling.services.refreshing import refresh, sweep
from scheduling.transactions import log_failure

logger = logging.getLogger(__name__)

_TICK_LIFE = 0.8  # part of its period that a tick lives, so that a punctual caller always finds it free
_FORGET_AFTER = timedelta(days=1)  # when the row of a worker that died is removed


class Maintenance:
    """Runs `step`, and `beat_if_due` beside it, every `SWEEP_INTERVAL` while the `with` block lasts."""

    def __init__(self, worker: str, task_types: list[str], queue: DelayQueue, breakers: Breakers | None = None) -> None:
        self.worker = worker
        self.task_types = task_types
        self.queue = queue
        self.breakers = breakers or Breakers()
        self._beat_at = float("-inf")
        self._told: set[tuple[str, str]] = set()
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=[self.step], name="maintenance", daemon=True),
            threading.Thread(target=self._keep_beating, name="heartbeat", daemon=True),
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _repeat(self, part: Callable[[], None]) -> None:
        while not self._ended.is_set():
            try:
                part()
            except Exception as error:
                log_failure(logger, "maintenance failed; it is tried again", error)
                connections.close_all()
            self._ended.wait(conf.SWEEP_INTERVAL)
        connections.close_all()

    def _keep_beating(self) -> None:
        self._repeat(self.beat_if_due)
        self._say_goodbye()

    def step(self) -> None:
        """Do what is due of the periodic work; of all nodes only one does each in its period."""
        if self.queue.tick("refresh", conf.REFRESH_INTERVAL * _TICK_LIFE):
            report = refresh()
            logger.debug("%s", report)
        elif self.queue.tick("sweep", conf.SWEEP_INTERVAL * _TICK_LIFE) and (requeued := sweep(self.queue)):
            logger.warning("gave %d overdue tasks out again", requeued)
        if self.queue.tick("prune", conf.PRUNE_INTERVAL):
            next(prune(clock.now() - timedelta(days=conf.LOG_RETENTION_DAYS)), 0)

    def beat_if_due(self) -> None:
        """Give a sign of life at its interval, and at once when the database begins or ends to refuse work."""
        is_due = time.monotonic() - self._beat_at > conf.HEARTBEAT_INTERVAL
        if is_due or outline(self.breakers.report()) != self._told:
            self.beat()

    def beat(self) -> None:
        """Write a sign of life, and complain of a clock that is wrong."""
        if abs(clock.offset) > conf.CLOCK_TOLERANCE:
            logger.warning("this machine's clock is %+.0f ms off the database's", -clock.offset * 1000)
        now, refused = clock.now(), self.breakers.report()
        signs = {
            "seen_at": now, "clock_offset_ms": -clock.offset * 1000, "queue": self.queue.name, "refused": refused
        }  # fmt: skip
        if not WorkerHeartbeat.objects.filter(name=self.worker).update(**signs):
            WorkerHeartbeat.objects.filter(seen_at__lt=now - _FORGET_AFTER).delete()
            WorkerHeartbeat.objects.create(name=self.worker, task_types=self.task_types, started_at=now, **signs)
        self._beat_at, self._told = time.monotonic(), outline(refused)

    def _say_goodbye(self) -> None:
        try:
            WorkerHeartbeat.objects.filter(name=self.worker).delete()
        except Exception as error:
            log_failure(logger, "the worker's row stays; it is removed after a day", error)
        connections.close_all()
