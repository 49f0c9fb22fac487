"""Tables of the engine: pending tasks (`taskinfo`), records of all tasks (`taskinfo_logs`), workers."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Self

from django.db import models, transaction
from django.db.models import F, Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Greatest
from django.utils.translation import gettext_lazy as _, pgettext_lazy

from scheduling.conf import conf
from scheduling.database import (
    GIVEN_TIME,
    Statement,
    among,
    database_now,
    delete_by_ids,
    instance_of_row,
    update_statement,
    write_for,
)
from scheduling.fields import ExactCharField
from scheduling.limits import KEY_LENGTH, TASK_TYPE_LENGTH

_MISSED_HEARTBEATS = 3  # heartbeats a worker may miss before it counts as dead

Instant = datetime | Combinable
"""A point in time for SQL: an aware datetime, or an expression such as `database_now()`."""


class TaskIdentity(models.Model):
    """Fields that a task and its record share."""

    task_id = models.BigIntegerField(_("task"), primary_key=True)
    task_type = ExactCharField(_("type"), max_length=TASK_TYPE_LENGTH)
    priority = models.SmallIntegerField(_("priority"), default=0, help_text=_("Lower runs first."))
    execute_time = models.DateTimeField(_("due"))
    parameters = models.JSONField(_("parameters"), default=dict, null=True, blank=True)
    key = ExactCharField(_("key"), max_length=KEY_LENGTH, null=True, blank=True)  # noqa: DJ001 (unique unless null)
    version = models.PositiveIntegerField(_("version"), default=1)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)
    created_at = models.DateTimeField(_("created"))
    promised_at = models.DateTimeField(
        _("promised"), help_text=_("When this due time was requested; lateness does not count before that.")
    )

    kind_name = subject_name = ""
    """Displayed label and subject, set by the admin from the registry."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.kind_name or self.task_type}: {self.subject_name or self.key or self.task_id}"


class TaskInfoQuerySet(models.QuerySet["TaskInfo"]):
    """Filters and locks for pending tasks."""

    def topic(self, task_type: str, priority: int) -> Self:
        """Tasks of one topic."""
        return self.filter(task_type=task_type, priority=priority)

    def due(self, now: Instant) -> Self:
        """Tasks whose due time has passed."""
        return self.filter(execute_time__lte=now)

    def free(self, now: Instant) -> Self:
        """Tasks without an unexpired lease or pause."""
        return self.filter(Q(leased_until__isnull=True) | Q(leased_until__lte=now))

    def at_version(self, version: int | None) -> Self:
        """Tasks that still have this version."""
        return self.filter(version=version)

    def unclaimed(self, now: Instant) -> Self:
        """Tasks that no program has leased, including those deferred after the database refused them."""
        return self.filter(Q(lease_token="") | Q(leased_until__isnull=True) | Q(leased_until__lte=now))

    def failing(self) -> Self:
        """Pending tasks with at least one attempt; an error, if any, is in their records."""
        return self.filter(attempts__gt=0)

    def oldest_first(self) -> Self:
        """In the order of their due times."""
        return self.order_by("execute_time", "task_id")

    def overdue_ids(self, task_type: str, priority: int, *, now: Instant, limit: int) -> list[int]:
        """Ids of the oldest due tasks of a topic that are neither leased nor locked."""
        with transaction.atomic():
            due = self.topic(task_type, priority).due(now).free(now).oldest_first()[:limit]
            return list(due.select_for_update(skip_locked=True).values_list("task_id", flat=True))

    def locked(self) -> Self:
        """Lock the rows in id order, skipping those that are locked: the row lock is the lease."""
        return self.order_by("task_id").select_for_update(skip_locked=True)

    def lock_all(self) -> list[TaskInfo]:
        """Lock the rows in id order, waiting for those that are locked.

        Their ids are read first, without locks: for another condition MariaDB may scan all of a small table, and
        wait for rows that do not match.
        """
        ids = list(self.values_list("task_id", flat=True))
        return list(by_ids(ids).order_by("task_id").select_for_update())

    def needed_to_run(self) -> Self:
        """Load only the columns that running a task needs; handlers may read the others, each by a query."""
        identity = "task_id", "task_type", "key", "parameters"
        return self.only(*identity, "execute_time", "promised_at", "version", "attempts")


class TaskInfo(TaskIdentity):
    """A pending task. Its row is deleted when it is executed, cancelled or dead."""

    leased_until = models.DateTimeField(_("leased until"), null=True, blank=True)
    lease_token = models.CharField(_("lease token"), max_length=32, blank=True, default="")

    objects = TaskInfoQuerySet.as_manager()

    class Meta:
        db_table = "taskinfo"
        verbose_name = _("pending task")
        verbose_name_plural = _("pending tasks")
        permissions = [("operate_tasks", _("Can add, lease and cancel tasks through the API"))]
        constraints = [models.UniqueConstraint(fields=["task_type", "key"], name="taskinfo_one_per_key")]
        indexes = [
            models.Index(fields=["task_type", "priority", "execute_time"], name="taskinfo_due"),
            models.Index(fields=["attempts"], name="taskinfo_tried"),
        ]

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **options: Any) -> Self:
        """A loaded row; a worker loads hundreds at once."""
        return instance_of_row(cls, db, field_names, values)

    @property
    def due(self) -> datetime:
        """The time from which lateness counts: not before the task was requested."""
        return max(self.execute_time, self.promised_at)

    def lateness(self, committed_at: datetime) -> timedelta:
        """How late the task is if its effect was committed then; never negative."""
        return max(committed_at - self.due, timedelta())

    @property
    def topic(self) -> tuple[str, int]:
        """The task's topic: `(task_type, priority)`."""
        return self.task_type, self.priority


class TaskInfoLogQuerySet(models.QuerySet["TaskInfoLog"]):
    """Bulk updates of records; each increments `version`, so that a lost update is detectable."""

    def change(self, *, now: Instant, **changes: object) -> int:
        """Update records that are still open; returns their number."""
        return self.filter(status=TaskInfoLog.Status.SCHEDULED).update(
            version=F("version") + 1, updated_at=now, **changes
        )

    def executed_since(self, since: datetime) -> Self:
        """Tasks that ran at or after `since`."""
        return self.filter(status=TaskInfoLog.Status.EXECUTED, updated_at__gte=since)


class TaskInfoLog(TaskIdentity):
    """The record of a task, which outlives the task."""

    class Status(models.IntegerChoices):
        """Status of a task."""

        SCHEDULED = 0, pgettext_lazy("task", "Scheduled")
        EXECUTED = 1, _("Executed")
        CANCELLED = 2, _("Cancelled")
        FAILED = 3, _("Failed")

    status = models.SmallIntegerField(_("status"), choices=Status.choices, default=Status.SCHEDULED)
    executed_at = models.DateTimeField(
        _("executed"),
        null=True,
        blank=True,
        help_text=_("When its effect was committed, measured after the commit; without a lateness, shortly before it."),
    )
    lateness = models.DurationField(
        _("lateness"),
        null=True,
        blank=True,
        help_text=_(
            "Executed minus due, or minus promised if that was later. "
            "Empty if the worker died between the commit and this measurement."
        ),
    )
    worker = models.CharField(_("worker"), max_length=100, blank=True, default="")
    error = models.TextField(_("error"), blank=True, default="")
    updated_at = models.DateTimeField(_("last change"))

    objects = TaskInfoLogQuerySet.as_manager()

    class Meta:
        db_table = "taskinfo_logs"
        verbose_name = _("task record")
        verbose_name_plural = _("task records")
        indexes = [
            models.Index(fields=["status", "updated_at"], name="taskinfo_logs_closed"),
            models.Index(fields=["task_type", "key"], name="taskinfo_logs_key"),
        ]

    @classmethod
    def identity_fields(cls) -> Iterable[models.Field[Any, Any]]:
        """The fields that a task and its record share."""
        return TaskIdentity._meta.local_fields

    @property
    def lateness_ms(self) -> float | None:
        """Lateness in milliseconds; None before the task ran, and if its commit was not measured."""
        return None if self.lateness is None else self.lateness / timedelta(milliseconds=1)

    @property
    def is_unmeasured(self) -> bool:
        """Whether it was executed, but its worker died before it measured how late."""
        return self.status == self.Status.EXECUTED and self.lateness is None


class WorkerHeartbeatQuerySet(models.QuerySet["WorkerHeartbeat"]):
    """Filters for workers."""

    def alive(self, now: datetime) -> Self:
        """Workers that run and have missed few heartbeats at most."""
        return self.recent(now).filter(stopped_at=None)

    def recent(self, now: datetime) -> Self:
        """Workers that have missed few heartbeats at most, or were stopped since."""
        return self.filter(seen_at__gte=_alive_since(now))


class WorkerHeartbeat(models.Model):
    """The last heartbeat of a worker process.

    That of a worker that was stopped is kept until another one starts or stops, to tell when the last one was seen.
    """

    name = models.CharField(_("worker"), max_length=100, primary_key=True, help_text=_("host:process"))
    task_types = models.JSONField(_("types it runs"), default=list)
    started_at = models.DateTimeField(_("started"))
    seen_at = models.DateTimeField(_("last seen"), db_index=True)
    stopped_at = models.DateTimeField(_("stopped"), null=True, blank=True)
    clock_offset_ms = models.FloatField(_("clock offset (ms)"), default=0.0)
    queue = models.CharField(_("queue"), max_length=20, default="")
    refused = models.JSONField(_("refused work"), default=list, null=True)
    metrics = models.JSONField(_("metrics"), default=list, null=True)

    objects = WorkerHeartbeatQuerySet.as_manager()

    class Meta:
        db_table = "taskinfo_workers"
        verbose_name = _("worker")
        verbose_name_plural = _("workers")

    def __str__(self) -> str:
        return self.name

    def is_alive(self, now: datetime) -> bool:
        """As `WorkerHeartbeatQuerySet.alive`."""
        return self.stopped_at is None and self.seen_at >= _alive_since(now)


def _alive_since(now: datetime) -> datetime:
    """A worker that was last seen before this counts as dead."""
    return now - timedelta(seconds=_MISSED_HEARTBEATS * conf.HEARTBEAT_INTERVAL)


class Installation(models.Model):
    """The single row that identifies this database; a copy of the database has the same."""

    id = models.SmallIntegerField(primary_key=True, default=1, editable=False)
    identity = models.UUIDField(default=uuid.uuid4, editable=False)

    class Meta:
        db_table = "scheduling_installation"
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.identity)


def topics_with_tasks() -> list[tuple[str, int, datetime]]:
    """Every topic with pending tasks and its earliest due time, by a loose scan of the due index."""
    rows = TaskInfo.objects.values("task_type", "priority").annotate(first=models.Min("execute_time"))
    return [(row["task_type"], row["priority"], row["first"]) for row in rows.order_by()]


def recorded_types() -> set[str]:
    """The task types that have records, by a loose scan of the index on type and key.

    It serves look-ups by key that name no type, which would otherwise read all records.
    """
    return set(TaskInfoLog.objects.order_by().values_list("task_type", flat=True).distinct())


def by_ids(ids: Collection[int]) -> TaskInfoQuerySet:
    """Pending tasks with these ids."""
    return TaskInfo.objects.filter(task_id__in=among(ids))


def records_of(ids: Collection[int]) -> TaskInfoLogQuerySet:
    """The records of tasks with these ids."""
    return TaskInfoLog.objects.filter(task_id__in=among(ids))


def close_executed(ids: Collection[int], *, attempts: int, worker: str) -> None:
    """Close open records as executed now; how late is not known before the commit, see `note_lateness`."""
    write_for(_executed, ids, attempts, worker)


def _executed(ids: Collection[int], attempts: int, worker: str) -> Statement:
    now = database_now()
    return update_statement(
        records_of(ids).filter(status=TaskInfoLog.Status.SCHEDULED),
        version=F("version") + 1,
        updated_at=now,
        status=TaskInfoLog.Status.EXECUTED,
        executed_at=now,
        lateness=None,
        attempts=attempts,
        worker=worker,
        error="",
    )


def note_lateness(ids: Collection[int], *, committed_at: datetime | None) -> None:
    """Complete records of executed tasks with the time that was measured after their commit."""
    write_for(_measured, ids, given=committed_at)


def _measured(ids: Collection[int]) -> Statement:
    """As `TaskInfo.lateness`."""
    return update_statement(
        records_of(ids).filter(status=TaskInfoLog.Status.EXECUTED, lateness=None),
        executed_at=GIVEN_TIME,
        lateness=Greatest(GIVEN_TIME - Greatest("execute_time", "promised_at"), timedelta()),
    )


def delete_tasks(ids: Collection[int]) -> None:
    """Delete pending tasks that the caller's transaction has locked."""
    delete_by_ids(TaskInfo, ids)
