"""How late a task may be after each kind of fault, by kind of task: the bounds that a proof fails on.

They count from the end of the fault that ended last, or from the task's time if that is later. While Redis alone fails
they count from the task's time: workers then take tasks from the database. The time of a purge is when the CDN gets
it; its task waits for a Redis that is away, whose copies it invalidates, too. Where several faults overlapped, the
longest bound holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

OF_REDIS = re.compile("Redis|foreign keys in Redis|early hints")
"""The kinds of faults that leave the database, the network to it and all processes alone."""

PURGE = "articles.purge"

LEASES: Mapping[str, float] = {
    PURGE: 3.0,
    **dict.fromkeys(("articles.mail_notice", "articles.ping", "articles.review", "articles.batch"), 30.0),
}
"""Seconds after which a task with an effect outside the database is free again if its worker died: SCHEDULING_LEASE."""


@dataclass(frozen=True)
class Bound:
    """Seconds: of tasks with their effect in the database, and of the others, to which their lease may be added."""

    stored: float
    outside: float

    def of(self, task_type: str) -> float:
        """Of tasks of this type."""
        return self.outside if task_type in LEASES else self.stored


NONE = Bound(10.0, 10.0)
"""Without any fault: of a burst, on a busy machine."""
OTHER = Bound(20.0, 20.0)
"""Of faults that are not listed: those of other proofs."""

_REDIS, _PROCESS, _DATABASE, _NETWORK = Bound(5.0, 5.0), Bound(5.0, 10.0), Bound(10.0, 15.0), Bound(15.0, 20.0)
_OUTSIDE = Bound(5.0, 20.0)

BOUNDS: Mapping[str, Bound] = {
    "worker killed": _PROCESS,
    "all workers killed": _PROCESS,
    "worker stopped": _PROCESS,
    "all workers stopped": _PROCESS,
    "supervisor killed": _PROCESS,
    "web process killed": _PROCESS,
    "web process stopped": _PROCESS,
    "web server killed": _PROCESS,
    "workers replaced": _PROCESS,
    "web server reloaded": _PROCESS,
    "MariaDB killed": _DATABASE,
    "MariaDB frozen": _DATABASE,
    "MariaDB read-only": _DATABASE,
    "MariaDB's disk full": _DATABASE,
    "MariaDB's commits held": _DATABASE,
    "MariaDB replaced by a stricter one": _DATABASE,
    "MariaDB replaced by one of another name": _DATABASE,
    "tables altered": _DATABASE,
    "MariaDB out of connections": _DATABASE,
    "deadlocks": _DATABASE,
    "rows held": _DATABASE,
    "articles held": _DATABASE,
    "Redis flushed": _REDIS,
    "Redis killed": _REDIS,
    "Redis frozen": _REDIS,
    "Redis full": _REDIS,
    "Redis evicting": _REDIS,
    "Redis loading": _REDIS,
    "Redis read-only": _REDIS,
    "Redis restored from a stale replica": _REDIS,
    "Redis' clock set back": _REDIS,
    "Redis' clock set ahead": _REDIS,
    "foreign keys in Redis": _REDIS,
    "early hints": _REDIS,
    "MariaDB: black hole": _NETWORK,
    "MariaDB: one-way black hole": _NETWORK,
    "MariaDB: delays": _NETWORK,
    "MariaDB: resets": _NETWORK,
    "Redis: black hole": _REDIS,
    "Redis: one-way black hole": _REDIS,
    "Redis: delays": _REDIS,
    "Redis: slow": _REDIS,
    "Redis: resets": _REDIS,
    "mail server away": _OUTSIDE,
    "CDN away": _OUTSIDE,
    "webhook receiver away": _OUTSIDE,
    "workers' clock set": _PROCESS,
    "web server's clock set": _PROCESS,
    "poisoned burst": _DATABASE,
    "failing task corrected": _PROCESS,
    "refresh": _PROCESS,
}


def bound_of(kinds: Iterable[str], task_type: str) -> float:
    """Seconds after the faults of these kinds, without a lease."""
    return max((BOUNDS.get(kind, OTHER).of(task_type) for kind in kinds), default=NONE.of(task_type))
