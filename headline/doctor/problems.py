"""The problems that readiness probes report by code, with the sentences that operators read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from headline.doctor.findings import Area, Finding, Level
from scheduling.conf import conf
from scheduling.database import Trouble

Report = dict[str, Any]
"""The figures of `headline.doctor.probes.report`."""

WORKER_CLOCK_OFF = "worker_clock_off"
"""Of any worker; `surroundings.check_clocks` names them."""

CLOCK_LIMIT = 1.0
"""Seconds of clock offset from which articles are visibly early or late."""


@dataclass(frozen=True)
class Problem:
    """A problem that a report shows; the texts may name figures of the report."""

    code: str
    area: Area
    level: Level
    is_found: Callable[[Report], bool]
    text: Promise
    advice: Promise

    def finding(self, report: Report) -> Finding:
        """The finding for operators."""
        return Finding(self.area, self.level, self.text % report, self.advice, self.code)


def found(report: Report) -> Iterator[Problem]:
    """The problems that the report shows."""
    return (problem for problem in _PROBLEMS if problem.is_found(report))


def _equals(name: str, value: object) -> Callable[[Report], bool]:
    return lambda report: bool(report.get(name) == value)


def _above_zero(name: str) -> Callable[[Report], bool]:
    return lambda report: report.get(name, 0) > 0


def _offset(report: Report) -> float:
    return abs(float(report.get("clock_offset_seconds", 0)))


def _worker_offsets(report: Report) -> list[float]:
    return list(report.get("worker_clock_offsets_seconds", ()))


_CHECK_CLOCKS = _(
    "Run a time service such as chrony on every machine, the database's first: its clock decides when articles go live."
)
_REDIS_IS_OPTIONAL = _(
    "Start Redis again or correct REDIS_URL. Until then tasks run from the database, a quarter of a second late."
)

_PROBLEMS = (
    Problem(
        "database_unusable",
        Area.DATABASE,
        Level.FAILURE,
        lambda report: bool(report["database"] != "ok"),
        _("The database cannot be used."),
        _("Start the database or correct DATABASE_URL; manage.py migrate creates missing tables."),
    ),
    Problem(
        "redis_unreachable",
        Area.REDIS,
        Level.WARNING,
        _equals("redis", "unreachable"),
        _("The queue's Redis cannot be reached."),
        _REDIS_IS_OPTIONAL,
    ),
    Problem(
        "redis_refused",
        Area.REDIS,
        Level.WARNING,
        _equals("redis", "refused"),
        _("The queue's Redis refuses the user or the password of REDIS_URL."),
        _("Correct REDIS_URL. Until then tasks run from the database, a quarter of a second late."),
    ),
    Problem(
        "redis_full",
        Area.REDIS,
        Level.WARNING,
        _equals("redis", "full"),
        _("The queue's Redis is full and refuses writes."),
        _("Give it more memory, and the response cache a Redis of its own (REDIS_CACHE_URL)."),
    ),
    Problem(
        "cache_unreachable",
        Area.REDIS,
        Level.WARNING,
        _equals("cache", "unreachable"),
        _("The response cache's Redis cannot be reached."),
        _("Start it again or correct REDIS_CACHE_URL. Until then each page is rendered for each request."),
    ),
    Problem(
        "cache_refused",
        Area.REDIS,
        Level.WARNING,
        _equals("cache", "refused"),
        _("The response cache's Redis refuses the user or the password of REDIS_CACHE_URL."),
        _("Correct REDIS_CACHE_URL; without it the cache uses REDIS_URL. Until then each page is rendered each time."),
    ),
    Problem(
        "cache_full",
        Area.REDIS,
        Level.WARNING,
        _equals("cache", "full"),
        _("The response cache's Redis is full and refuses writes."),
        _("Set its maxmemory-policy to allkeys-lru."),
    ),
    Problem(
        "media_unwritable",
        Area.DISK,
        Level.FAILURE,
        _equals("media", "unwritable"),
        _("Images cannot be stored: what editors upload is refused."),
        _("Let the web servers write DATA_DIR, or correct MEDIA_STORAGE; the log names the error."),
    ),
    Problem(
        "worker_without_redis",
        Area.WORKERS,
        Level.WARNING,
        lambda report: report["redis"] == "ok" and "database" in report.get("queue", ()),
        _("A worker cannot reach Redis, although this machine can."),
        _("Compare REDIS_URL and the network of the workers with those of the web servers."),
    ),
    Problem(
        "no_worker",
        Area.WORKERS,
        Level.FAILURE,
        # Into a read-only database none writes that it runs.
        lambda report: report.get("workers") == 0 and Trouble.READ_ONLY.value not in report.get("trouble", ()),
        _("No worker is running."),
        _(
            "Start one with manage.py poll --forever. Approved articles go live on time without it, but notifications, "
            "updates and releases wait."
        ),
    ),
    Problem(
        "trouble",
        Area.WORKERS,
        Level.FAILURE,
        lambda report: bool(report.get("trouble")),
        _("The database or a worker's machine refuses work."),
        _("The dashboard names the error. Nothing is lost: the tasks are retried every few seconds."),
    ),
    Problem(
        "failing",
        Area.WORKERS,
        Level.WARNING,
        _above_zero("failing"),
        _("Tasks that failed and are retried: %(failing)d."),
        _("manage.py tasks list --status failing shows their errors."),
    ),
    Problem(
        "overdue",
        Area.WORKERS,
        Level.FAILURE,
        _above_zero("overdue"),
        _("Overdue tasks: %(overdue)d."),
        _("manage.py tasks list --status overdue names them. Start more workers if they are busy."),
    ),
    Problem(
        "overdue_unclaimed",
        Area.WORKERS,
        Level.WARNING,
        _above_zero("overdue_unclaimed"),
        _("Overdue tasks of types that no worker runs: %(overdue_unclaimed)d."),
        _("Start the program that runs them, or cancel them."),
    ),
    Problem(
        "clock_off",
        Area.CLOCK,
        Level.WARNING,
        lambda report: conf.CLOCK_TOLERANCE < _offset(report) < CLOCK_LIMIT,
        _("The database's clock differs from this machine's by %(clock_offset_seconds)+.3f seconds."),
        _CHECK_CLOCKS,
    ),
    Problem(
        "clock_off",
        Area.CLOCK,
        Level.FAILURE,
        lambda report: _offset(report) >= CLOCK_LIMIT,
        _("The database's clock differs from this machine's by %(clock_offset_seconds)+.1f seconds."),
        _CHECK_CLOCKS,
    ),
    Problem(
        WORKER_CLOCK_OFF,
        Area.CLOCK,
        Level.WARNING,
        lambda report: any(abs(offset) > conf.CLOCK_TOLERANCE for offset in _worker_offsets(report)),
        _("The clock of a worker's machine differs from the database's."),
        _CHECK_CLOCKS,
    ),
    Problem(
        "proxy_not_counted",
        Area.SETTINGS,
        Level.WARNING,
        lambda report: bool(report["proxy_not_counted"]),
        _("A proxy forwards requests, but PROXY_COUNT is 0: all its visitors share one address in rate limits."),
        _("Set PROXY_COUNT to the number of proxies that write X-Forwarded-For, usually 1."),
    ),
)
