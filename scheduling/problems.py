"""What can be wrong with the engine: code, sentence and advice of each problem, and the figures that show it.

Probes, metrics, alert rules, system checks and screens read this one list; a project may append its own problems.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from scheduling import registry
from scheduling.conf import conf
from scheduling.database import Trouble, read_database_clock
from scheduling.exceptions import QueueFull, QueueRefused, QueueUnavailable
from scheduling.queues import get_queue
from scheduling.services.measuring import failing_by_type, overdue_by_topic, refused_work, workers

CLOCK_LIMIT = 1.0  #: seconds of clock offset from which tasks are visibly early or late
FAILING_LIMIT = 1_000  #: where counting failing tasks stops
WORKER_CLOCK_OFF = "worker_clock_off"

Figures = Mapping[str, Any]
"""Those of `figures`, and `redis` of `redis_state`; one that was not measured shows no problem."""


@dataclass(frozen=True)
class Problem:
    """A problem that figures show; its sentence may name some of them."""

    code: str
    area: str
    is_failure: bool  #: otherwise a warning
    is_found: Callable[[Figures], bool]
    text: str | Promise
    advice: str | Promise

    def sentence(self, shown: Figures) -> str:
        """The problem in a sentence, with its figures."""
        return str(self.text) % shown


def found(shown: Figures, among: Iterable[Problem] = ()) -> list[Problem]:
    """The problems that the figures show, of these or else of the engine."""
    return [problem for problem in among or PROBLEMS if problem.is_found(shown)]


def figures(now: datetime) -> dict[str, Any]:
    """Figures of the engine; each takes a few milliseconds, however many tasks there are."""
    alive, overdue = workers(now), overdue_by_topic(now)
    handled = registry.task_types() | alive.task_types
    mine = sum(count for (task_type, _priority), count in overdue.items() if task_type in handled)
    return {
        "queue": sorted(alive.queues),
        "workers": alive.count,
        "heartbeat_age_seconds": alive.last_sign,
        "overdue": mine,
        "overdue_unclaimed": overdue.total() - mine,
        "failing": failing_by_type(FAILING_LIMIT).total(),
        "trouble": {one.trouble.value: str(one.trouble.label) for one in refused_work(now)},
        "clock_offset_seconds": clock_offset(),
        "worker_clock_offsets_seconds": [round(offset, 3) for offset in alive.clock_offsets],
    }


def clock_offset() -> float:
    """Seconds by which the database's clock is ahead of this machine's, within the duration of the query."""
    before = time.time()
    database_time = read_database_clock().timestamp()
    return round(database_time - (before + time.time()) / 2, 3)


def redis_state() -> str:
    """The state of the queue's Redis in a word, "ok" or a cause of a problem; it may wait for Redis."""
    if not conf.REDIS_URL:
        return "unused"
    try:
        get_queue().ping()
    except QueueUnavailable as error:
        return state_of(error)
    return "ok"


def state_of(error: QueueUnavailable) -> str:
    """The state of Redis that an error shows."""
    return "full" if isinstance(error, QueueFull) else "refused" if isinstance(error, QueueRefused) else "unreachable"


def equals(name: str, value: object) -> Callable[[Figures], bool]:
    """Whether a figure has this value."""
    return lambda shown: bool(shown.get(name) == value)


def _has(name: str) -> Callable[[Figures], bool]:
    return lambda shown: bool(shown.get(name))


def _is_refused(trouble: Trouble, shown: Figures) -> bool:
    return trouble.value in shown.get("trouble", ())


def _is_without_worker(shown: Figures) -> bool:
    # Into a read-only database none writes that it runs.
    return shown.get("workers") == 0 and not _is_refused(Trouble.READ_ONLY, shown)


def _is_without_redis(shown: Figures) -> bool:
    # Of a Redis that this machine does not reach either, its own problem says more.
    return bool(conf.REDIS_URL) and "database" in shown.get("queue", ()) and shown.get("redis", "ok") == "ok"


def _is_off(shown: Figures, *, is_failure: bool) -> bool:
    offset = abs(float(shown.get("clock_offset_seconds", 0)))
    return offset >= CLOCK_LIMIT if is_failure else conf.CLOCK_TOLERANCE < offset < CLOCK_LIMIT


def _is_off_at_a_worker(shown: Figures) -> bool:
    offsets: Collection[float] = shown.get("worker_clock_offsets_seconds", ())
    return any(abs(offset) > conf.CLOCK_TOLERANCE for offset in offsets)


_CHECK_CLOCKS = _("Run a time service such as chrony on every machine, the database's first: its clock decides.")
_REFUSED_ADVICE = _("Nothing is lost: tasks are retried every few seconds and complete once this is repaired.")
_CLOCK_OFF = _("The database's clock differs from this machine's by %(clock_offset_seconds)+.3f seconds.")

PROBLEMS = (
    *(
        Problem("trouble", "workers", True, partial(_is_refused, trouble), trouble.label, _REFUSED_ADVICE)
        for trouble in Trouble
    ),
    Problem(
        "redis_unreachable",
        "redis",
        False,
        equals("redis", "unreachable"),
        _("The queue's Redis cannot be reached."),
        _(
            "Start Redis again or correct REDIS_URL. "
            "Until then tasks run from the database, a quarter of a second late."
        ),
    ),
    Problem(
        "redis_refused",
        "redis",
        False,
        equals("redis", "refused"),
        _("The queue's Redis refuses the user or the password of REDIS_URL."),
        _("Correct REDIS_URL. Until then tasks run from the database, a quarter of a second late."),
    ),
    Problem(
        "redis_full",
        "redis",
        False,
        equals("redis", "full"),
        _("The queue's Redis is full and refuses writes."),
        _("Give it more memory, and the response cache a Redis of its own (REDIS_CACHE_URL)."),
    ),
    Problem(
        "worker_without_redis",
        "workers",
        False,
        _is_without_redis,
        _("A worker works without Redis."),
        _("Start Redis again, or compare the workers' REDIS_URL and network with those of the web servers."),
    ),
    Problem(
        "no_worker",
        "workers",
        True,
        _is_without_worker,
        _("No worker is running."),
        _("Start one with manage.py poll --forever."),
    ),
    Problem(
        "failing",
        "workers",
        False,
        _has("failing"),
        _("Tasks that failed and are retried: %(failing)d."),
        _("manage.py tasks list --status failing shows their errors."),
    ),
    Problem(
        "overdue",
        "workers",
        True,
        _has("overdue"),
        _("Overdue tasks: %(overdue)d."),
        _("manage.py tasks list --status overdue names them. Start more workers if they are busy."),
    ),
    Problem(
        "overdue_unclaimed",
        "workers",
        False,
        _has("overdue_unclaimed"),
        _("Overdue tasks of types that no worker runs: %(overdue_unclaimed)d."),
        _("Start the program that runs them, or cancel them."),
    ),
    *(
        Problem("clock_off", "clock", is_failure, partial(_is_off, is_failure=is_failure), _CLOCK_OFF, _CHECK_CLOCKS)
        for is_failure in (False, True)
    ),
    Problem(
        WORKER_CLOCK_OFF,
        "clock",
        False,
        _is_off_at_a_worker,
        _("The clock of a worker's machine differs from the database's."),
        _CHECK_CLOCKS,
    ),
)
