"""Add tasks: rows in the caller's transaction, hints to the queue after the commit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils.translation import gettext as _

from scheduling.database import Collision, copy_rows, insert_rows, is_duplicate, read_database_clock, update_by_ids
from scheduling.exceptions import InvalidTask
from scheduling.ids import new_task_ids
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services.hints import push_hints_on_commit
from scheduling.validation import (
    checked_key,
    checked_parameters,
    checked_priority,
    checked_task_type,
    checked_time,
    same_json,
)

TypeAndKey = tuple[str, str | None]

_KEYS_PER_STATEMENT = 1000
_COLUMNS = [field.attname for field in TaskInfo._meta.concrete_fields]
_MAX_COLLISIONS = 5  # attempts, when another process makes the same id or adds the same key at the same time


@dataclass(frozen=True, slots=True)
class NewTask:
    """A valid task that has no row yet."""

    task_type: str
    execute_time: datetime
    parameters: Any
    priority: int = 0
    key: str | None = None

    @classmethod
    def checked(
        cls, task_type: str, *, execute_time: datetime, parameters: Any, priority: int = 0, key: str | None = None
    ) -> NewTask:
        """A draft of these values. Raises `InvalidTask` or one of its children."""
        return cls(
            checked_task_type(task_type),
            checked_time(execute_time),
            checked_parameters(parameters),
            checked_priority(priority),
            checked_key(key),
        )

    def differs_from(self, task: TaskInfo) -> bool:
        """Whether a pending task has other values, or failed attempts: one that a program has leased is not over."""
        return (
            (self.execute_time, self.priority) != (task.execute_time, task.priority)
            or (task.attempts > 0 and not task.lease_token)
            or not same_json(self.parameters, task.parameters)
        )


def add_task(
    task_type: str, *, execute_time: datetime, parameters: Any, priority: int = 0, key: str | None = None
) -> TaskInfo:
    """Store a task that becomes due at `execute_time`; a time in the past means now.

    If a task with this type and `key` is pending, that one is changed instead (same id, `version` + 1), so that there
    is at most one pending task per subject and action. One that is the same already is left alone while it is leased;
    otherwise its failed attempts start over. It is stored in the caller's transaction, and gone if that rolls back.
    Raises `InvalidTask` (or its child `NaiveTime`, `TimeOutOfRange`) and database errors.
    """
    draft = NewTask.checked(task_type, execute_time=execute_time, parameters=parameters, priority=priority, key=key)
    return _add([draft])[0]


def add_tasks(tasks: Iterable[Mapping[str, Any]]) -> list[TaskInfo]:
    """Store many tasks, each a mapping of `add_task`'s arguments, in one transaction and a few statements.

    All or none: the first invalid one raises `InvalidTask` with its position. The result is in the order given.
    """
    drafts = checked_drafts(tasks)
    return _add(drafts) if drafts else []


def checked_drafts(tasks: Iterable[Mapping[str, Any]]) -> list[NewTask]:
    """Valid drafts. Raises `InvalidTask` with the position of the first that is invalid or repeats a key."""
    drafts = []
    for position, values in enumerate(tasks):
        try:
            drafts.append(NewTask.checked(**values))
        except (InvalidTask, TypeError) as error:
            kind = type(error) if isinstance(error, InvalidTask) else InvalidTask
            raise kind(_("task %(position)d: %(error)s") % {"position": position, "error": error}) from error
    _refuse_repeated_keys(drafts)
    return drafts


def _refuse_repeated_keys(drafts: Sequence[NewTask]) -> None:
    seen = set()
    for position, draft in enumerate(drafts):
        if draft.key is not None and (draft.task_type, draft.key) in seen:
            values = {"position": position, "type": draft.task_type, "key": draft.key}
            raise InvalidTask(_("task %(position)d: %(type)r with key %(key)r is there twice") % values)
        seen.add((draft.task_type, draft.key))


def _add(drafts: Sequence[NewTask]) -> list[TaskInfo]:
    # Who loses the race for a key finds the winner's row the next time, and changes that one.
    for attempts_left in reversed(range(_MAX_COLLISIONS)):
        try:
            # A savepoint within a caller's transaction: a duplicate must not cost the caller its own work.
            with transaction.atomic():
                pending = _locked_by_key(drafts)
                return write_drafts(drafts, pending, now=read_database_clock())
        except IntegrityError as error:
            if not attempts_left or not is_duplicate(error):
                raise
    raise AssertionError("unreachable")


def _locked_by_key(drafts: Sequence[NewTask]) -> dict[TypeAndKey, TaskInfo]:
    """The pending tasks that the drafts' keys name, locked: a running one may not see what it would be told again."""
    keys: dict[str, list[str]] = {}
    for draft in drafts:
        if draft.key is not None:
            keys.setdefault(draft.task_type, []).append(draft.key)
    found: dict[TypeAndKey, TaskInfo] = {}
    for task_type, wanted in keys.items():
        for start in range(0, len(wanted), _KEYS_PER_STATEMENT):
            rows = TaskInfo.objects.filter(task_type=task_type, key__in=wanted[start : start + _KEYS_PER_STATEMENT])
            found |= {(task.task_type, task.key): task for task in rows.lock_all()}
    return found


def write_drafts(drafts: Sequence[NewTask], pending: Mapping[TypeAndKey, TaskInfo], *, now: datetime) -> list[TaskInfo]:
    """Write the rows in the caller's transaction; returns a task for each draft. `pending` has those of their keys.

    Raises `Collision` when one of these is no longer pending, and `IntegrityError` when another process makes the same
    id or key at the same time.
    """
    tasks, changed, created = [], [], []
    for draft in drafts:
        task = pending.get((draft.task_type, draft.key))
        if task is None:
            task = _new_task(draft, now)
            created.append(task)
        elif draft.differs_from(task):
            reset_task(
                task, now=now, execute_time=draft.execute_time, parameters=draft.parameters, priority=draft.priority
            )
            changed.append(task)
        tasks.append(task)
    store_reset(changed, now=now)
    _insert(created, now)
    push_hints_on_commit([*changed, *created], now=now)
    return tasks


def _new_task(draft: NewTask, now: datetime) -> TaskInfo:
    """As a loaded row, since `__init__` takes longer than the insert; without an id."""
    identity = None, draft.task_type, draft.priority, draft.execute_time, draft.parameters, draft.key
    version, attempts = 1, 0
    return TaskInfo.from_db(None, _COLUMNS, (*identity, version, attempts, now, now, None, ""))


def reset_task(task: TaskInfo, *, now: datetime, **changes: Any) -> None:
    """Set new values on a task in memory; its attempts start over, and a lease is lost."""
    for name, value in changes.items():
        setattr(task, name, value)
    task.promised_at = now
    task.version += 1
    task.attempts = 0
    task.leased_until, task.lease_token = None, ""


def store_reset(tasks: Sequence[TaskInfo], *, now: datetime) -> None:
    """Write tasks that `reset_task` changed, and their records. Raises `Collision` if one is no longer pending."""
    fields = ["execute_time", "parameters", "priority"]
    # In the order of ids, in which every other statement locks these rows: two callers cannot deadlock.
    rows = sorted(map(attrgetter("task_id", *fields), tasks), key=itemgetter(0))
    same: dict[str, Any] = {"version": F("version") + 1, "attempts": 0, "promised_at": now}
    if update_by_ids(TaskInfo, fields, rows, **same, leased_until=None, lease_token="") < len(rows):
        # It has run or was cancelled between the look and this statement; the caller begins again.
        raise Collision
    update_by_ids(TaskInfoLog, fields, rows, **same, updated_at=now, error="")


def _insert(tasks: Sequence[TaskInfo], now: datetime) -> None:
    """Give new tasks their ids, and write them and their records."""
    if not tasks:
        return
    for task, new_id in zip(tasks, new_task_ids(len(tasks)), strict=True):
        task.task_id = new_id
    fields = ["task_id", "task_type", "priority", "execute_time", "parameters", "key"]
    rows = map(attrgetter(*fields), tasks)
    insert_rows(TaskInfo, fields, rows, version=1, attempts=0, created_at=now, promised_at=now, lease_token="")
    shared = [field.name for field in TaskInfoLog.identity_fields()]
    opened = {"status": TaskInfoLog.Status.SCHEDULED, "worker": "", "error": "", "updated_at": now}
    # Copied by the database, which has the values already, instead of being sent a second time.
    copy_rows(TaskInfo, TaskInfoLog, shared, [task.task_id for task in tasks], **opened)
