"""All problems that readiness probes report by code: the engine's, and those of the project around it."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from headline.doctor.findings import Area, DoctorFinding, Level
from scheduling import problems as engine
from scheduling.problems import Figures, Problem, equals

EVENTS_LOST = "events_lost"

PROBLEMS = (
    Problem(
        "database_unusable",
        Area.DATABASE,
        True,
        equals("database", "unusable"),
        _("The database cannot be used."),
        _("Start the database or correct DATABASE_URL; manage.py migrate creates missing tables."),
    ),
    *engine.PROBLEMS,
    Problem(
        "cache_unreachable",
        Area.REDIS,
        False,
        equals("cache", "unreachable"),
        _("The response cache's Redis cannot be reached."),
        _("Start it again or correct REDIS_CACHE_URL. Until then each page is rendered for each request."),
    ),
    Problem(
        "cache_refused",
        Area.REDIS,
        False,
        equals("cache", "refused"),
        _("The response cache's Redis refuses the user or the password of REDIS_CACHE_URL."),
        _("Correct REDIS_CACHE_URL; without it the cache uses REDIS_URL. Until then each page is rendered each time."),
    ),
    Problem(
        "cache_full",
        Area.REDIS,
        False,
        equals("cache", "full"),
        _("The response cache's Redis is full and refuses writes."),
        _("Set its maxmemory-policy to allkeys-lru."),
    ),
    Problem(
        "media_unwritable",
        Area.DISK,
        True,
        equals("media", "unwritable"),
        _("Images cannot be stored: what editors upload is refused."),
        _("Let the web servers write DATA_DIR, or correct MEDIA_STORAGE; the log names the error."),
    ),
    Problem(
        EVENTS_LOST,
        Area.WEBHOOKS,
        False,
        lambda figures: figures.get(EVENTS_LOST, 0) > 0,
        _("Events were deleted before every webhook or EVENTS_SINK got them: %(events_lost)d within a week."),
        _("Their receivers have to read all articles again. Delete webhooks that stay paused, or raise EVENT_DAYS."),
    ),
    Problem(
        "proxy_not_counted",
        Area.SETTINGS,
        False,
        equals("proxy_not_counted", True),
        _("A proxy forwards requests, but PROXY_COUNT is 0: all its visitors share one address in rate limits."),
        _("Set PROXY_COUNT to the number of proxies that write X-Forwarded-For, usually 1."),
    ),
)


def codes(report: Figures) -> list[str]:
    """The codes of the problems that a report of `headline.doctor.probes` shows."""
    return list(dict.fromkeys(problem.code for problem in engine.found(report, PROBLEMS)))


def findings(report: Figures) -> list[DoctorFinding]:
    """Its problems for operators; `surroundings.check_clocks` names the workers whose clocks are off."""
    return [
        DoctorFinding(
            Area(problem.area),
            Level.FAILURE if problem.is_failure else Level.WARNING,
            problem.sentence(report),
            problem.advice,
            problem.code,
        )
        for problem in engine.found(report, PROBLEMS)
        if problem.code != engine.WORKER_CLOCK_OFF
    ]
