"""Prometheus metrics: django-prometheus's request metrics, and those of the engine.

`gunicorn.conf.py` makes django-prometheus sum the metrics of several web processes; the engine's come from the database
and are the same in each.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from datetime import datetime, timedelta
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_prometheus.exports import ExportToDjangoView
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from articles.cache import write_request_metrics
from articles.publishing import count_unscheduled
from articles.webhooks import count_lost
from headline.doctor.probes import WAIT_TIMEOUT, Probe
from headline.doctor.problems import EVENTS_LOST
from headline.operators import is_operator
from scheduling import problems, registry
from scheduling.conf import conf
from scheduling.database import Trouble, read_database_clock
from scheduling.metrics import of_workers
from scheduling.services.measuring import (
    Topic,
    due_by_topic,
    failed_by_type,
    failing_by_type,
    overdue_by_topic,
    worker_metrics,
)

Sample = tuple[dict[str, str], float]
"""Labels and a value."""


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """All metrics, for clients with the token or from a listed network."""
    if not is_operator(request):
        return _forbidden()
    write_request_metrics()
    page: HttpResponse = ExportToDjangoView(request)
    page.write(generate_latest(TaskCollector()))
    return page


def _forbidden() -> HttpResponse:
    if not settings.METRICS_TOKEN:
        return HttpResponse("Set METRICS_TOKEN or METRICS_NETWORKS.\n", "text/plain", HTTPStatus.FORBIDDEN)
    page = HttpResponse('Send METRICS_TOKEN as "Authorization: Bearer …".\n', "text/plain", HTTPStatus.UNAUTHORIZED)
    page["WWW-Authenticate"] = "Bearer"
    return page


class TaskCollector(Collector):
    """The engine's metrics; without the database, only `database_up`."""

    def collect(self) -> Iterable[Metric]:
        """The current metrics."""
        try:
            figures = _figures.start().result(WAIT_TIMEOUT)
        except Exception:
            figures = []
        yield _gauge("database_up", "1 while the database answers", [({}, bool(figures))])
        yield from figures


def _collect() -> list[Metric]:
    now = read_database_clock()
    coming, figures = now + timedelta(seconds=conf.PRELOAD_WINDOW), problems.figures(now)
    found = {problem.code for problem in problems.found(figures)}
    return [
        _gauge("tasks_ready", "Pending tasks whose due time has passed", _by_topic(due_by_topic(now))),
        _gauge("tasks_due", "Pending tasks due within the preload window", _by_topic(due_by_topic(coming))),
        _gauge("tasks_overdue", "Tasks that are overdue", _by_topic(overdue_by_topic(now))),
        _gauge("tasks_failing", "Pending tasks whose last attempt failed", _by_type(failing_by_type())),
        _gauge("tasks_failed", "Dead tasks, which wait for a user to retry them", _by_type(failed_by_type())),
        _gauge("trouble", "1 while the database or a worker's machine refuses work", _by_trouble(figures["trouble"])),
        _gauge(
            "clock_offset_seconds",
            "How far the database's clock is ahead",
            [({}, figures["clock_offset_seconds"])],
        ),
        _gauge("workers_alive", "Workers with a recent heartbeat", [({}, figures["workers"])]),
        _gauge("problem", "1 while the engine has this problem", _by_code(found)),
        _gauge("queue_degraded", "1 while a worker works without Redis", [({}, "worker_without_redis" in found)]),
        _gauge("articles_unscheduled", "Approved articles due soon that have no task", [({}, _unscheduled(now))]),
        _gauge(EVENTS_LOST, "Events of a week that were deleted unsent", [({}, count_lost(now))]),
        *of_workers(worker_metrics(now)),
    ]


class _Unscheduled:
    """Counts approved articles without a task, every `METRICS_COUNT_INTERVAL` in a process."""

    def __init__(self) -> None:
        self._counted_at, self._count = float("-inf"), 0

    def __call__(self, now: datetime) -> int:
        if time.monotonic() >= self._counted_at + settings.METRICS_COUNT_INTERVAL:
            self._count, self._counted_at = count_unscheduled(now), time.monotonic()
        return self._count


_unscheduled = _Unscheduled()


def _gauge(name: str, text: str, samples: Iterable[Sample]) -> Metric:
    gauge = Metric(f"headline_{name}", text, "gauge")
    for labels, value in samples:
        gauge.add_sample(gauge.name, labels, value)
    return gauge


def _by_topic(counts: Counter[Topic]) -> Iterator[Sample]:
    """Labelled also with whether this project runs the type; if not, an external program should."""
    for (task_type, priority), count in counts.items():
        handled = "no" if registry.get(task_type) is None else "yes"
        yield {"task_type": task_type, "priority": str(priority), "handled": handled}, count


def _by_type(counts: Counter[str]) -> Iterator[Sample]:
    for task_type, count in counts.items():
        yield {"task_type": task_type}, count


def _by_trouble(refused: Collection[str]) -> Iterator[Sample]:
    """All kinds, also with 0, so that alerts resolve."""
    for trouble in Trouble:
        yield {"kind": trouble.value}, trouble.value in refused


def _by_code(found: Collection[str]) -> Iterator[Sample]:
    """All that the database shows, as above."""
    for code in dict.fromkeys(problem.code for problem in problems.PROBLEMS if problem.area != "redis"):
        yield {"code": code}, code in found


_figures = Probe(_collect)
