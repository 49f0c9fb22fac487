"""Threads beside the tasks of a worker: functions that are registered as companions."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from scheduling.conf import conf
from scheduling.incidents import incidents
from scheduling.registry import Companion, Ending

logger = logging.getLogger(__name__)


class Companions:
    """Runs these functions while the `with` block lasts; one that does not end in time is left to its thread."""

    def __init__(self, functions: Iterable[Companion], is_busy: Callable[[], bool]) -> None:
        """`is_busy` is whether the worker runs tasks, or has some that become due within some milliseconds."""
        self._ended = Ending(is_busy)
        self._threads = [
            threading.Thread(target=self._run, args=[one], name=one.__name__, daemon=True) for one in functions
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(conf.STOP_TIMEOUT / 4)

    def _run(self, function: Companion) -> None:
        try:
            function(self._ended)
        except Exception as error:
            incidents.failed(logger, function.__name__, f"{function.__name__} has ended", error)
