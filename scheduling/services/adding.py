"""Add tasks: rows in the caller's transaction, hints to the queue after the commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext as _

from scheduling.clock import read_database_clock
from scheduling.exceptions import InvalidTask
from scheduling.ids import new_task_id
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services.hints import push_hints_on_commit
from scheduling.validation import checked_key, checked_parameters, checked_priority, checked_task_type, checked_time

_ROWS_PER_STATEMENT = 1000
_MAX_COLLISIONS = 5  # attempts, when another process makes the same id or adds the same key at the same time


@dataclass(frozen=True, slots=True)
class Draft:
    """A valid task that has no row yet."""

    task_type: str
    execute_time: datetime
    parameters: Any
    priority: int = 0
    key: str | None = None

    @classmethod
    def checked(
        cls, task_type: str, *, execute_time: datetime, parameters: Any, priority: int = 0, key: str | None = None
    ) -> Draft:
        """A draft of these values. Raises `InvalidTask` or one of its children."""
        return cls(
            checked_task_type(task_type),
            checked_time(execute_time),
            checked_parameters(parameters),
            checked_priority(priority),
            checked_key(key),
        )


def add_task(
    task_type: str, *, execute_time: datetime, parameters: Any, priority: int = 0, key: str | None = None
) -> TaskInfo:
    """Store a task that becomes due at `execute_time`; a time in the past means now.

    If a task with this type and `key` is pending, that one is changed instead (same id, `version` + 1), so that there
    is at most one pending task per subject and action. It is stored in the caller's transaction, and gone if that
    rolls back. Raises `InvalidTask` (or its child `NaiveTime`, `TimeOutOfRange`) and database errors.
    """
    draft = Draft.checked(task_type, execute_time=execute_time, parameters=parameters, priority=priority, key=key)
    return _add([draft])[0]


def add_tasks(tasks: Iterable[Mapping[str, Any]]) -> list[TaskInfo]:
    """Store many tasks, each a mapping of `add_task`'s arguments, in one transaction and a few statements.

    All or none: the first invalid one raises `InvalidTask` with its position. The result is in the order given.
    """
    drafts = []
    for position, values in enumerate(tasks):
        try:
            drafts.append(Draft.checked(**values))
        except (InvalidTask, TypeError) as error:
            kind = type(error) if isinstance(error, InvalidTask) else InvalidTask
            raise kind(_("task %(position)d: %(error)s") % {"position": position, "error": error}) from error
    _refuse_repeated_keys(drafts)
    return _add(drafts) if drafts else []


def _refuse_repeated_keys(drafts: Sequence[Draft]) -> None:
    seen = set()
    for position, draft in enumerate(drafts):
        if draft.key is not None and (draft.task_type, draft.key) in seen:
            values = {"position": position, "type": draft.task_type, "key": draft.key}
            raise InvalidTask(_("task %(position)d: %(type)r with key %(key)r is there twice") % values)
        seen.add((draft.task_type, draft.key))


def _add(drafts: Sequence[Draft]) -> list[TaskInfo]:
    for attempts_left in reversed(range(_MAX_COLLISIONS)):
        try:
            with transaction.atomic():
                now = read_database_clock()
                tasks, changed = _store(drafts, now=now)
                push_hints_on_commit(changed, now=now)
            return tasks
        except IntegrityError:
            if not attempts_left:
                raise
    raise AssertionError("unreachable")


def _store(drafts: Sequence[Draft], *, now: datetime) -> tuple[list[TaskInfo], list[TaskInfo]]:
    """Write the rows; returns a task for each draft, and those of them that are new or changed."""
    pending = _pending_by_key(drafts)
    tasks, changed, created = [], [], []
    for draft in drafts:
        task = pending.get((draft.task_type, draft.key))
        if task is None:
            task = _new_task(draft, now)
            created.append(task)
        elif _apply(draft, task, now):
            changed.append(task)
        tasks.append(task)
    update_rows(changed, now)
    insert_rows(created, now)
    return tasks, changed + created


def _pending_by_key(drafts: Sequence[Draft]) -> dict[tuple[str, str | None], TaskInfo]:
    """The pending tasks that the drafts' keys name, locked until the end of the transaction."""
    keys: dict[str, list[str]] = {}
    for draft in drafts:
        if draft.key is not None:
            keys.setdefault(draft.task_type, []).append(draft.key)
    found: dict[tuple[str, str | None], TaskInfo] = {}
    for task_type, wanted in keys.items():
        for start in range(0, len(wanted), _ROWS_PER_STATEMENT):
            rows = TaskInfo.objects.filter(task_type=task_type, key__in=wanted[start : start + _ROWS_PER_STATEMENT])
            found |= {(task.task_type, task.key): task for task in rows.lock_all()}
    return found


def _new_task(draft: Draft, now: datetime) -> TaskInfo:
    return TaskInfo(
        task_id=new_task_id(),
        task_type=draft.task_type,
        priority=draft.priority,
        execute_time=draft.execute_time,
        parameters=draft.parameters,
        key=draft.key,
        created_at=now,
        promised_at=now,
    )


def _apply(draft: Draft, task: TaskInfo, now: datetime) -> bool:
    """Copy the draft's values to a pending task; False if it has them already."""
    wanted = {"execute_time": draft.execute_time, "parameters": draft.parameters, "priority": draft.priority}
    if all(getattr(task, name) == value for name, value in wanted.items()) and not task.attempts:
        return False
    reset_task(task, now=now, **wanted)
    return True


def reset_task(task: TaskInfo, *, now: datetime, **changes: Any) -> None:
    """Set new values on a task in memory; its attempts start over, and a lease is lost."""
    for name, value in changes.items():
        setattr(task, name, value)
    task.promised_at = now
    task.version += 1
    task.attempts = 0
    task.leased_until, task.lease_token = None, ""


_RESET_FIELDS = ["execute_time", "parameters", "priority", "version", "attempts", "promised_at"]


def update_rows(tasks: Sequence[TaskInfo], now: datetime) -> None:
    """Write tasks that `reset_task` changed, whose rows the caller has locked, and their records."""
    if not tasks:
        return
    # `bulk_update` would write a CASE with a branch for each row, whose cost grows with the square of their number.
    target = ["task_id"] if connection.features.supports_update_conflicts_with_target else None
    upsert: dict[str, Any] = {"batch_size": _ROWS_PER_STATEMENT, "update_conflicts": True, "unique_fields": target}
    TaskInfo.objects.bulk_create(tasks, update_fields=[*_RESET_FIELDS, "leased_until", "lease_token"], **upsert)
    logs = [_log_of(task, now) for task in tasks]
    TaskInfoLog.objects.bulk_create(logs, update_fields=[*_RESET_FIELDS, "updated_at", "error"], **upsert)


def insert_rows(tasks: Sequence[TaskInfo], now: datetime) -> None:
    """Write new tasks and their records."""
    if not tasks:
        return
    TaskInfo.objects.bulk_create(tasks, batch_size=_ROWS_PER_STATEMENT)
    TaskInfoLog.objects.bulk_create([_log_of(task, now) for task in tasks], batch_size=_ROWS_PER_STATEMENT)


def _log_of(task: TaskInfo, now: datetime) -> TaskInfoLog:
    identity = {field.attname: getattr(task, field.attname) for field in TaskInfoLog.identity_fields()}
    return TaskInfoLog(**identity, updated_at=now)
