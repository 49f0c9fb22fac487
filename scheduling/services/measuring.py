"""Figures about the engine for the dashboard and monitors: counts, lateness, refused work, workers.

Counts stop at `COUNT_LIMIT` and lateness is sampled from the latest `SAMPLE` tasks, so that each figure takes a few
milliseconds even with a million tasks.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Count, Max, Q

from scheduling.conf import conf
from scheduling.database import COUNT_LIMIT, Trouble, is_read_only
from scheduling.models import TaskInfo, TaskInfoLog, TaskInfoQuerySet, WorkerHeartbeat, topics_with_tasks

SAMPLE = 5_000  #: latest tasks whose lateness is read

Topic = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Lateness:
    """How late tasks ran, in milliseconds; None where nothing ran, or nothing was measured."""

    count: int  #: executed tasks
    p50: float | None
    p99: float | None
    max: float | None
    unmeasured: int = 0  #: those of them whose worker died before it measured how late; in no other figure

    @classmethod
    def of(cls, values: Iterable[timedelta | None]) -> Lateness:
        """The figures of `values`, None for what was not measured; percentiles by nearest rank."""
        given = list(values)
        sizes = sorted(value / timedelta(milliseconds=1) for value in given if value is not None)
        figures = _percentile(sizes, 50), _percentile(sizes, 99), _percentile(sizes, 100)
        return cls(len(given), *figures, unmeasured=len(given) - len(sizes))


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    return ordered[math.ceil(len(ordered) * percent / 100) - 1] if ordered else None


def lateness(now: datetime, minutes: float) -> Lateness:
    """How late the tasks ran that were executed in the last `minutes`."""
    executed = TaskInfoLog.objects.executed_since(now - timedelta(minutes=minutes)).order_by("-updated_at")
    return Lateness.of(executed.values_list("lateness", flat=True)[:SAMPLE])


@dataclass(frozen=True, slots=True)
class LateHours:
    """How late tasks ran in some hours: in total, and per hour by its start, oldest first."""

    total: Lateness
    hours: list[tuple[datetime, Lateness]]
    is_sample: bool  #: whether the earliest runs were left out because of `SAMPLE`


def lateness_by_hour(now: datetime, hours: int, task_types: Collection[str]) -> LateHours:
    """How late the tasks of some types ran in the last `hours`, the present one included."""
    first = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=hours - 1)
    runs = TaskInfoLog.objects.executed_since(first).filter(task_type__in=task_types).order_by("-updated_at")
    found = list(runs.values_list("updated_at", "lateness")[:SAMPLE])
    by_hour: defaultdict[int, list[timedelta | None]] = defaultdict(list)
    for moment, late in found:
        by_hour[(moment - first) // timedelta(hours=1)].append(late)
    spans = [(first + timedelta(hours=number), Lateness.of(by_hour[number])) for number in range(hours)]
    return LateHours(Lateness.of(late for _, late in found), spans, is_sample=len(found) == SAMPLE)


def pending_by_topic() -> Counter[Topic]:
    """How many tasks of each topic are pending: exact, hence not for monitors (0.3 s for a million)."""
    rows = TaskInfo.objects.values_list("task_type", "priority").annotate(count=Count("pk")).order_by()
    return Counter({(task_type, priority): count for task_type, priority, count in rows})


def due_by_topic(before: datetime) -> Counter[Topic]:
    """How many tasks of each topic are due before an instant, up to `COUNT_LIMIT` each."""
    return Counter({topic: tasks[:COUNT_LIMIT].count() for topic, tasks in _due(before)})


def overdue_by_topic(now: datetime) -> Counter[Topic]:
    """How many tasks of each topic should have run `OVERDUE_ALARM` ago and are not leased to a program."""
    counts = {topic: tasks.unclaimed(now)[:COUNT_LIMIT].count() for topic, tasks in _due(overdue_before(now))}
    return Counter({topic: count for topic, count in counts.items() if count})


def overdue_tasks(now: datetime) -> TaskInfoQuerySet:
    """The tasks that `overdue_by_topic` counts; filters by topic, so that the due index is used."""
    before = overdue_before(now)
    topics = [Q(task_type=task_type, priority=priority) for (task_type, priority), _ in _due(before)]
    if not topics:
        return TaskInfo.objects.none()
    return TaskInfo.objects.filter(Q(*topics, _connector=Q.OR)).due(before).unclaimed(now)


def overdue_before(now: datetime) -> datetime:
    """Pending tasks that were due before this are overdue."""
    return now - timedelta(seconds=conf.OVERDUE_ALARM)


def _due(before: datetime) -> list[tuple[Topic, TaskInfoQuerySet]]:
    return [
        ((task_type, priority), TaskInfo.objects.topic(task_type, priority).due(before))
        for task_type, priority, first in topics_with_tasks()
        if first <= before
    ]


def failed_by_type() -> Counter[str]:
    """How many tasks of each type are dead, until a person retries them; `COUNT_LIMIT` in total at most."""
    failed = TaskInfoLog.objects.filter(status=TaskInfoLog.Status.FAILED)
    return Counter(failed.values_list("task_type", flat=True)[:COUNT_LIMIT])


def count_failed() -> int:
    """How many tasks are dead, `COUNT_LIMIT` at most: from the index alone, while their types are in the rows."""
    return TaskInfoLog.objects.filter(status=TaskInfoLog.Status.FAILED)[:COUNT_LIMIT].count()


def failing_by_type(limit: int = COUNT_LIMIT) -> Counter[str]:
    """How many pending tasks of each type have failed at least once; `limit` in total at most."""
    failing = list(TaskInfo.objects.failing().values_list("task_id", flat=True)[:limit])
    logs = TaskInfoLog.objects.filter(task_id__in=failing).exclude(error="") if failing else TaskInfoLog.objects.none()
    return Counter(logs.values_list("task_type", flat=True))


@dataclass(frozen=True, slots=True)
class RefusedWork:
    """Work that the database, or a worker's machine, refuses at present."""

    trouble: Trouble
    task_types: frozenset[str]  #: the types that cannot run; empty: all
    since: datetime | None
    error: str  #: the database's error, which may name tables and values


def refused_work(now: datetime) -> list[RefusedWork]:
    """Work refused according to the heartbeats of live workers, and by a read-only database."""
    found: defaultdict[Trouble, list[dict[str, str]]] = defaultdict(list)
    for rows in WorkerHeartbeat.objects.alive(now).values_list("refused", flat=True):
        for row in rows or ():
            found[_trouble(row["trouble"])].append(row)
    refused = [_refused(trouble, rows) for trouble, rows in found.items()]
    if Trouble.READ_ONLY not in found and is_read_only():
        refused.append(RefusedWork(Trouble.READ_ONLY, frozenset(), None, ""))
    return sorted(refused, key=lambda one: (one.since or now, one.trouble))


def _trouble(value: str) -> Trouble:
    """The trouble of this value; a worker of a newer version may report an unknown one."""
    return Trouble(value) if value in Trouble.values else Trouble.REFUSED


def _refused(trouble: Trouble, rows: Sequence[dict[str, str]]) -> RefusedWork:
    first = min(rows, key=lambda row: row["since"])
    types = frozenset(row["task_type"] for row in rows)
    return RefusedWork(trouble, types, datetime.fromisoformat(first["since"]), first["error"])


@dataclass(frozen=True, slots=True)
class Workers:
    """The live workers."""

    count: int
    task_types: frozenset[str]  #: the types they run
    queues: frozenset[str]  #: their queues: "redis", or "database" while Redis is away or not used
    last_sign: float | None  #: seconds since one was last seen, also one that stopped or died; None: never
    clock_offsets: list[float]  #: seconds by which the database's clock is ahead of that of each


def workers(now: datetime) -> Workers:
    """The workers that are alive at `now`."""
    alive = list(WorkerHeartbeat.objects.alive(now))
    last_seen = WorkerHeartbeat.objects.aggregate(at=Max("seen_at"))["at"]
    return Workers(
        count=len(alive),
        task_types=frozenset(task_type for worker in alive for task_type in worker.task_types),
        queues=frozenset(worker.queue for worker in alive),
        last_sign=(now - last_seen).total_seconds() if last_seen else None,
        clock_offsets=sorted(-worker.clock_offset_ms / 1000 for worker in alive),
    )


def count_workers(now: datetime) -> int:
    """How many are alive at `now`, also in the table of an earlier version, which deleted rows of stopped workers."""
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, WorkerHeartbeat._meta.db_table)
    recent = WorkerHeartbeat.objects.recent(now)
    can_stop = "stopped_at" in {column.name for column in columns}
    return (recent.filter(stopped_at=None) if can_stop else recent).count()


def worker_metrics(now: datetime) -> dict[str, list[dict[str, Any]]]:
    """The metrics of live workers, by name."""
    alive = WorkerHeartbeat.objects.alive(now).order_by("name")
    return {name: rows or [] for name, rows in alive.values_list("name", "metrics")}
