"""What must hold in the tables of the engine after every step of a history, given what its actors have done so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from scheduling.models import TaskInfo, TaskInfoLog
from tests.probe.models import Effect

Status = TaskInfoLog.Status
Version = tuple[int, int]
"""The id of a task, and its version."""


class Row(NamedTuple):
    """A pending task as stored."""

    task_id: int
    task_type: str
    key: str
    version: int
    attempts: int
    execute_time: datetime
    lease_token: str


class Record(NamedTuple):
    """A task's record as stored."""

    task_id: int
    task_type: str
    key: str
    status: int
    parameters: Any
    executed_at: datetime | None
    lateness: timedelta | None


class Run(NamedTuple):
    """One call of a handler for one task."""

    task_id: int
    version: int


class Invariants:
    """Compares the tables after each step with those before it."""

    def __init__(self, *, transactional: str, max_attempts: int) -> None:
        self.transactional = transactional  #: the type whose effects are in the database, with the number of their run
        self.max_attempts = max_attempts
        self.step = 0
        self.rows: dict[int, Row] = {}
        self.records: dict[int, Record] = {}
        self.runs: list[Run] = []
        self.times: dict[Version, datetime] = {}  #: due times, as first stored
        self.raised: set[Version] = set()  #: whose handler raised by its own fault
        self.retried: set[int] = set()  #: tasks that a step retries
        self.excuses: Counter[Version] = Counter()  #: failures, and workers that died or paused
        self.closed_at: dict[int, int] = {}  #: the last step after which a task was not pending
        self.cancelled_at: dict[int, int] = {}
        self.leased: list[int] = []  #: tasks that were leased in the last step

    def excuse(self, ids: Collection[int]) -> None:
        """The worker that holds these tasks died or paused: their attempts may count as crashes."""
        self.excuses.update((task_id, self.rows[task_id].version) for task_id in ids if task_id in self.rows)

    def newest(self, task_type: str, key: str) -> int:
        """The id of the newest task of this type and key, 0 without one."""
        ids = [record.task_id for record in self.records.values() if (record.task_type, record.key) == (task_type, key)]
        return max(ids, default=0)

    def check(self, operation: str) -> None:
        """After a step of `operation`."""
        rows = {row[0]: Row(*row) for row in TaskInfo.objects.values_list(*Row._fields)}
        records = {row[0]: Record(*row) for row in TaskInfoLog.objects.values_list(*Record._fields)}
        effects: dict[int, list[Run]] = {}
        for task_id, number in Effect.objects.values_list("task_id", "process"):
            effects.setdefault(task_id, []).append(self.runs[number])
        self.step += 1
        assert not self.records.keys() - records.keys(), "a record is gone"
        for record in records.values():
            self._check_record(record, record.task_id in rows, effects.get(record.task_id, []))
            self._check_change(record, effects.get(record.task_id, []), operation)
        for row in rows.values():
            self._check_row(row)
        before, self.rows, self.records = self.rows, rows, records
        self.leased = [row.task_id for row in rows.values() if row.lease_token and row != before.get(row.task_id)]

    def _check_record(self, record: Record, is_pending: bool, effects: list[Run]) -> None:  # noqa: FBT001
        assert is_pending == (record.status == Status.SCHEDULED), f"{record} and its task do not match"
        if record.task_type == self.transactional:
            assert len(effects) == (record.status == Status.EXECUTED), f"{record} has {len(effects)} effects"
        if record.lateness is not None:
            assert record.lateness >= timedelta(), f"{record} is early"
        if not is_pending:
            self.closed_at[record.task_id] = self.step

    def _check_change(self, record: Record, effects: list[Run], operation: str) -> None:
        """A closed task stays closed unless a step retries it, and nothing is closed without a reason."""
        before, row = self.records.get(record.task_id), self.rows.get(record.task_id)
        if before is None or before.status == record.status:
            assert before or record.status == Status.SCHEDULED
            return
        if before.status != Status.SCHEDULED:
            can_return = before.status != Status.EXECUTED and record.status == Status.SCHEDULED
            assert can_return and record.task_id in self.retried, f"{before} has become {record}"
            return
        assert row is not None
        version = row.task_id, row.version
        if record.status == Status.EXECUTED:
            ran = effects if record.task_type == self.transactional else self.runs
            assert version in ran, f"{record}: {ran} ran instead of version {row.version}"
        elif record.status == Status.FAILED:
            assert self.excuses[version] >= self.max_attempts, (
                f"{record} is dead after {self.excuses[version]} attempts"
            )
        else:
            self.cancelled_at[record.task_id] = self.step
            is_dropped = record.parameters == "is dropped" and version in self.runs
            assert is_dropped or operation in ("cancel", "cancel key"), f"{operation} cancelled {record}"

    def _check_row(self, row: Row) -> None:
        version, before = (row.task_id, row.version), self.rows.get(row.task_id)
        assert before is None or before.version <= row.version, f"{row} was {before}"
        first = self.times.setdefault(version, row.execute_time)
        if row.execute_time != first:
            assert version in self.raised or row.task_id in self.retried, f"{row} was due at {first}"

    def ended(self, operation: str, task_id: int, since: int, result: Any, error: Exception | None) -> None:
        """After `operation`, on `task_id` if it names one, which began after the step `since`."""
        if operation in ("add", "reschedule") and error is None:
            assert self.times.get((result.task_id, result.version)) == result.execute_time, (
                "acknowledged but not stored"
            )
        elif operation == "cancel" and result:
            assert self.cancelled_at.get(task_id, -1) > since, "acknowledged but not cancelled"
        elif task_id in self.records and (operation == "cancel" or operation == "reschedule"):
            assert self.closed_at.get(task_id, -1) >= since, f"refused, though it was pending: {error}"
