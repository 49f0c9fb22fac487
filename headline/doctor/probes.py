"""Health probes: `/healthz` (liveness) and `/readyz` (readiness, with problems).

`/readyz` returns 503 only if the database is unusable, because only then pages cannot be served. Redis down, images
that cannot be stored, no live worker, a database that refuses the workers' writes, failing or overdue tasks make the
status "degraded", with 200: the queue falls back to the database, articles go live by the clock alone, and removing web
servers would not help.

Everyone sees the status and the codes of problems, by which proxies and health checks decide. The figures, from which a
stranger could see how the site copes with load, are for this machine, `METRICS_TOKEN` and `METRICS_NETWORKS`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.core.cache import caches
from django.db import connections
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from articles.webhooks import count_lost
from headline.accounts.address import uncounted_proxy
from headline.doctor import problems
from headline.doctor.problems import EVENTS_LOST
from headline.media_probe import media_is_writable
from headline.operators import is_on_this_machine, is_operator
from scheduling import problems as engine
from scheduling.database import causes, read_database_clock
from scheduling.incidents import incidents
from scheduling.services.measuring import count_failed, lateness

logger = logging.getLogger(__name__)

WAIT_TIMEOUT = 2.0  #: seconds a probe waits for the database and for Redis
_REFUSALS = frozenset({"AuthenticationError", "AuthorizationError", "NoPermissionError"})  # of Redis clients
LATENESS_MINUTES = 15  #: minutes of the lateness figures


class Probe:
    """Runs a check in a thread of its own, one at a time, so that an unresponsive server blocks only one thread."""

    def __init__(self, check: Callable[[], Any]) -> None:
        self._check = check
        self._lock = threading.Lock()
        self._running: Future[Any] | None = None

    def start(self) -> Future[Any]:
        """The future result; concurrent callers share it."""
        with self._lock:
            if self._running is None or self._running.done():
                self._running = Future()
                try:
                    threading.Thread(target=self._run, args=[self._running], name="probe", daemon=True).start()
                except RuntimeError as error:  # the machine allows no more threads
                    self._running.set_exception(error)
            return self._running

    def _run(self, result: Future[Any]) -> None:
        try:
            value = self._check()
        except Exception as error:
            connections.close_all()
            result.set_exception(error)
        else:
            connections.close_all()
            result.set_result(value)


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Liveness: the process responds; queries no server."""
    return HttpResponse("ok\n", content_type="text/plain")


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Readiness: the status and problems, without names, addresses or contents."""
    figures = report()
    codes = problems.codes(figures)
    status = "unusable" if figures["database"] != "ok" else "degraded" if codes else "ready"
    shown = dict(figures) if is_on_this_machine(request) or is_operator(request) else {}
    shown.pop("proxy_not_counted", None)
    response = JsonResponse({"status": status, "problems": codes, **shown})
    if status == "unusable":
        response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
        response._has_been_logged = True  # type: ignore[attr-defined] # by the probe, once; Django would for each
    return response


def report() -> dict[str, Any]:
    """The state of the database, Redis, the cache and the workers, after two seconds at most."""
    redis, cache, media, figures = futures = [_redis.start(), _cache.start(), _media.start(), _database.start()]
    wait(futures, WAIT_TIMEOUT)
    return {
        "database": "ok",
        "redis": _result("redis", redis, "unreachable"),
        "cache": _result("cache", cache, "unreachable"),
        "media": _result("media", media, "unwritable"),
        "proxy_not_counted": uncounted_proxy.is_set(),
        **_result("database", figures, {"database": "unusable"}),
    }


def _result(name: str, future: Future[Any], otherwise: Any) -> Any:
    """The result, or `otherwise` if there is none yet."""
    source = f"probe of {name}"
    try:
        result = future.result(0)
    except Exception as error:
        incidents.failed(
            logger, source, f"a {source} failed: {str(error) or type(error).__name__}", level=logging.WARNING
        )
        return otherwise
    incidents.succeeded(source)
    return result


def _check_cache() -> str:
    """Whether the response cache accepts writes; a full one may still respond."""
    if not settings.REDIS_CACHE_URL:
        return "unused"
    try:
        caches["responses"].set("probe", "ok", timeout=10)
    except Exception as error:  # error classes differ by cache backend
        if "maxmemory" in str(error):
            return "full"
        return "refused" if _is_refusal(error) else "unreachable"
    return "ok"


def _is_refusal(error: BaseException) -> bool:
    """Whether the server answers, but refuses the user or the password."""
    return any(type(cause).__name__ in _REFUSALS for cause in causes(error))


def _check_media() -> str:
    return "ok" if media_is_writable() else "unwritable"


def check_database() -> dict[str, Any]:
    """Figures of the engine: those of its problems, how many tasks failed and how late they ran, and lost events."""
    now = read_database_clock()
    late = asdict(lateness(now, LATENESS_MINUTES))
    return engine.figures(now) | {"failed": count_failed(), "lateness_ms": late, EVENTS_LOST: count_lost(now)}


_redis = Probe(engine.redis_state)
_cache = Probe(_check_cache)
_media = Probe(_check_media)
_database = Probe(check_database)
