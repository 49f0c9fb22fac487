"""Runs all checks of an installation: the list that `manage.py doctor` and the System screen share.

They include our system checks, and what takes the network or the disk, which `check` leaves out, because it runs before
each command.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from django.conf import settings
from django.core.checks import ERROR, CheckMessage
from django.core.checks.registry import registry
from django.db import DatabaseError, connection
from django.utils.translation import gettext as _

from headline import env
from headline.doctor import probes as health, problems, servers, surroundings
from headline.doctor.findings import Area, DoctorFinding, Level
from scheduling.conf import conf

Check = Callable[[], Iterable[DoctorFinding]]

_LOCAL: tuple[Check, ...] = (
    surroundings.check_cron,
    surroundings.check_disk,
    surroundings.check_keys,
    surroundings.check_mail,
    surroundings.check_variables,
)
_IN_DATABASE: tuple[Check, ...] = (servers.check_database, surroundings.check_clocks)
_OUTWARD: tuple[Check, ...] = (surroundings.connect_to_mail_server, surroundings.purge_cdn)

_MODULES = ("headline.", "scheduling.", "articles.", "django.core.checks.security.base")
"""Modules whose system checks are about the installation, not the code."""

_IGNORED = frozenset({"scheduling.W020", "security.W001", "security.W004", "security.W006", "security.W022"})
"""W020 is one of `scheduling.problems`, as found by readiness; the others are about headers that a proxy may set."""

_AREAS = {
    "scheduling.E01": Area.DATABASE,
    "scheduling.W01": Area.DATABASE,
    "scheduling.E02": Area.REDIS,
    "scheduling.W02": Area.REDIS,
    "scheduling.E005": Area.REDIS,
    "scheduling.E006": Area.REDIS,
    "articles.W011": Area.REDIS,
    "articles.W012": Area.REDIS,
    "articles.W009": Area.CDN,
    "articles.W010": Area.CDN,
    "headline.E004": Area.DATABASE,
    "headline.W002": Area.CRON,
    "security.": Area.KEYS,
}
"""Beginnings of the ids of system checks; others are about settings."""

_UNTRANSLATED = ("security.", "scheduling.E00", "scheduling.W003", "scheduling.E015", "articles.E00", "articles.W008")
"""Those of Django, and of settings in Python, which are for its authors."""


def examine(*, outward: bool) -> list[DoctorFinding]:
    """All findings, by area; an area without any has a sentence that it is well.

    `outward` also connects to the mail server and sends a purge to each proxy.
    """
    if refusal := _database_refusal():
        found = [refusal, *_run(_LOCAL), *_system_checks([])]
        skipped = {Area.CLOCK, Area.DATABASE, Area.REDIS, Area.WORKERS}
    else:
        report = health.report()
        found = [*problems.findings(report), *_run(_IN_DATABASE), *_run(_LOCAL), *_system_checks(["default"])]
        skipped = set()
    if outward:
        found += _run(_OUTWARD)
    sound = set(Area) - skipped - {finding.area for finding in found}
    found += [DoctorFinding(area, Level.OK, _SOUND[area]()) for area in sound]
    return sorted(found, key=lambda finding: list(Area).index(finding.area))


def _run(checks: Iterable[Check]) -> list[DoctorFinding]:
    return [finding for check in checks for finding in _run_one(check)]


def _run_one(check: Check) -> list[DoctorFinding]:
    try:
        return list(check())
    except DatabaseError as error:  # a table is missing, or the server stopped
        return [_unusable(error)]


def _database_refusal() -> DoctorFinding | None:
    """Why the database cannot be used; None if it can."""
    try:
        connection.ensure_connection()
    except DatabaseError as error:
        return _unusable(error)
    return None


def _unusable(error: DatabaseError) -> DoctorFinding:
    text = _("The database cannot be used: %(error)s") % {"error": env.redact(str(error))}
    return DoctorFinding(
        Area.DATABASE, Level.FAILURE, text, _("Start it, or correct DATABASE_URL."), "database_unusable"
    )


def _system_checks(databases: list[str]) -> Iterator[DoctorFinding]:
    for check in registry.get_checks(include_deployment_checks=True):
        if check.__module__.startswith(_MODULES):
            messages = check(app_configs=None, databases=databases)
            yield from (_finding(message) for message in messages if not _is_ignored(message))


def _is_ignored(message: CheckMessage) -> bool:
    return message.id in _IGNORED or message.is_silenced()


def _finding(message: CheckMessage) -> DoctorFinding:
    level = Level.FAILURE if message.level >= ERROR else Level.WARNING
    area = next((area for start, area in _AREAS.items() if str(message.id).startswith(start)), Area.SETTINGS)
    language = "en" if str(message.id).startswith(_UNTRANSLATED) else ""
    return DoctorFinding(area, level, message.msg, message.hint or "", str(message.id), language)


def _clock_text() -> str:
    if connection.vendor == "sqlite":
        return _("The database uses this machine's clock.")
    return _("The database's clock and this machine's differ by less than %(limit)g ms.") % {
        "limit": conf.CLOCK_TOLERANCE * 1000
    }


def _database_text() -> str:
    return _("%(name)s: all migrations are applied, and tables and triggers are complete.") % {
        "name": servers.database_name()
    }


def _redis_text() -> str:
    if not conf.REDIS_URL:
        return _("Redis is not used: tasks run from the database, up to a quarter of a second late.")
    return _("The queue's and the cache's Redis respond.")


def _cron_text() -> str:
    if surroundings.has_cron_jobs():
        return _("The cron jobs are installed and run.")
    return _("No cron jobs are installed; none are needed while workers run as services.")


def _cdn_text() -> str:
    if not settings.CDN_PURGE_URLS:
        return _("No proxies or CDNs are configured, so none may cache pages.")
    return _("Proxies and CDNs to purge: %(count)d.") % {"count": len(settings.CDN_PURGE_URLS)}


_SOUND: dict[Area, Callable[[], str]] = {
    Area.CLOCK: _clock_text,
    Area.DATABASE: _database_text,
    Area.REDIS: _redis_text,
    Area.WORKERS: lambda: _("Workers are running, and no task is overdue."),
    Area.CRON: _cron_text,
    Area.CDN: _cdn_text,
    Area.WEBHOOKS: lambda: _("No event for webhooks was lost."),
    Area.MAIL: lambda: _("Mails are sent by %(host)s.") % {"host": settings.EMAIL_HOST},
    Area.KEYS: lambda: _("The secret key is strong, and files with secrets are private."),
    Area.DISK: surroundings.free_space,
    Area.SETTINGS: lambda: _("The settings fit together."),
}
"""The sentence about an area in which nothing was found."""
