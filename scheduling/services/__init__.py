"""The engine's public functions: add, change, lease, run and refresh tasks.

Each runs in the caller's transaction or opens one; the queue is updated after the commit.
"""

from scheduling.services.adding import add_task as add_task, add_tasks as add_tasks
from scheduling.services.changing import (
    cancel_key as cancel_key,
    cancel_keys as cancel_keys,
    cancel_task as cancel_task,
    cancel_tasks as cancel_tasks,
    execute_keys as execute_keys,
    reschedule_task as reschedule_task,
    retry_task as retry_task,
)
from scheduling.services.finding import (
    FAILED as FAILED,
    FAILING as FAILING,
    OVERDUE as OVERDUE,
    FoundTask as FoundTask,
    executed_records as executed_records,
    find_tasks as find_tasks,
    has_pending as has_pending,
    pending_times as pending_times,
)
from scheduling.services.leasing import complete_task as complete_task, fail_task as fail_task, poll as poll
from scheduling.services.measuring import (
    LateHours as LateHours,
    Lateness as Lateness,
    RefusedWork as RefusedWork,
    lateness_by_hour as lateness_by_hour,
    overdue_before as overdue_before,
    refused_work as refused_work,
)
from scheduling.services.refreshing import RefreshReport as RefreshReport, refresh as refresh, sweep as sweep
from scheduling.services.running import RunReport as RunReport, run_due as run_due, run_once as run_once
from scheduling.services.syncing import set_tasks as set_tasks
from scheduling.validation import rounded_up as rounded_up
