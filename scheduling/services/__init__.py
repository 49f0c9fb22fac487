"""The engine's public functions: add, change, lease, run and refresh tasks.

Each runs in the caller's transaction or opens one; the queue is updated after the commit.
"""

from scheduling.clock import clock, database_clock_set, database_now, read_database_clock
from scheduling.compiled import Statement, compiled_for, compiled_once, pipelined, update_statement, write_for
from scheduling.failures import trouble_of
from scheduling.incidents import incidents
from scheduling.instances import instance_of_row
from scheduling.json_rows import delete_by_ids, insert_rows, update_by_ids
from scheduling.log_fields import of_ids, of_task
from scheduling.row_locks import IdList, among, lock_by_ids
from scheduling.services.adding import add_task, add_tasks
from scheduling.services.changing import (
    cancel_key,
    cancel_keys,
    cancel_task,
    cancel_tasks,
    execute_keys,
    reschedule_task,
    retry_task,
)
from scheduling.services.finding import FAILED, FAILING, OVERDUE, FoundTask, executed_records, find_tasks
from scheduling.services.leasing import complete_task, fail_task, poll
from scheduling.services.lookup import has_pending, pending_times
from scheduling.services.measuring import (
    LateHours,
    Lateness,
    Refused,
    Workers,
    lateness_by_hour,
    overdue_before,
    overdue_by_topic,
    refused_work,
    workers,
    works_without_redis,
)
from scheduling.services.refreshing import RefreshReport, refresh, sweep
from scheduling.services.running import RunReport, run_due, run_once
from scheduling.services.syncing import set_tasks
from scheduling.transactions import retried
from scheduling.validation import EARLIEST, LATEST, rounded_up

__all__ = [
    "EARLIEST",
    "FAILED",
    "IdList",
    "FAILING",
    "FoundTask",
    "LATEST",
    "LateHours",
    "Lateness",
    "OVERDUE",
    "RefreshReport",
    "Refused",
    "RunReport",
    "Statement",
    "Workers",
    "add_task",
    "add_tasks",
    "among",
    "cancel_key",
    "cancel_keys",
    "cancel_task",
    "cancel_tasks",
    "execute_keys",
    "clock",
    "compiled_for",
    "compiled_once",
    "complete_task",
    "database_clock_set",
    "database_now",
    "delete_by_ids",
    "fail_task",
    "executed_records",
    "find_tasks",
    "has_pending",
    "incidents",
    "instance_of_row",
    "lateness_by_hour",
    "insert_rows",
    "lock_by_ids",
    "of_ids",
    "of_task",
    "overdue_before",
    "overdue_by_topic",
    "pending_times",
    "pipelined",
    "poll",
    "read_database_clock",
    "refresh",
    "refused_work",
    "reschedule_task",
    "retried",
    "retry_task",
    "rounded_up",
    "run_due",
    "run_once",
    "set_tasks",
    "sweep",
    "trouble_of",
    "update_by_ids",
    "update_statement",
    "workers",
    "works_without_redis",
    "write_for",
]
