"""The engine's public functions: add, change, lease, run and refresh tasks.

Each runs in the caller's transaction or opens one; the queue is updated after the commit.
"""

from scheduling.services.adding import add_task as add_task
from scheduling.services.adding import add_tasks as add_tasks
from scheduling.services.changing import cancel_key as cancel_key
from scheduling.services.changing import cancel_keys as cancel_keys
from scheduling.services.changing import cancel_task as cancel_task
from scheduling.services.changing import cancel_tasks as cancel_tasks
from scheduling.services.changing import execute_keys as execute_keys
from scheduling.services.changing import reschedule_task as reschedule_task
from scheduling.services.changing import retry_task as retry_task
from scheduling.services.finding import FAILED as FAILED
from scheduling.services.finding import FAILING as FAILING
from scheduling.services.finding import OVERDUE as OVERDUE
from scheduling.services.finding import FoundTask as FoundTask
from scheduling.services.finding import executed_records as executed_records
from scheduling.services.finding import find_tasks as find_tasks
from scheduling.services.finding import has_pending as has_pending
from scheduling.services.finding import pending_times as pending_times
from scheduling.services.leasing import complete_task as complete_task
from scheduling.services.leasing import fail_task as fail_task
from scheduling.services.leasing import poll as poll
from scheduling.services.measuring import LateHours as LateHours
from scheduling.services.measuring import Lateness as Lateness
from scheduling.services.measuring import Refused as Refused
from scheduling.services.measuring import Workers as Workers
from scheduling.services.measuring import lateness_by_hour as lateness_by_hour
from scheduling.services.measuring import overdue_before as overdue_before
from scheduling.services.measuring import overdue_by_topic as overdue_by_topic
from scheduling.services.measuring import refused_work as refused_work
from scheduling.services.measuring import workers as workers
from scheduling.services.measuring import works_without_redis as works_without_redis
from scheduling.services.refreshing import RefreshReport as RefreshReport
from scheduling.services.refreshing import refresh as refresh
from scheduling.services.refreshing import sweep as sweep
from scheduling.services.running import RunReport as RunReport
from scheduling.services.running import run_due as run_due
from scheduling.services.running import run_once as run_once
from scheduling.services.syncing import set_tasks as set_tasks
from scheduling.validation import rounded_up as rounded_up
