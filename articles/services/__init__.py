"""Everything that changes where an article stands. Admin, REST and commands call these and nothing else.

Each is one transaction that locks the article, asks whether `by` may do it and whether the status allows it, and
leaves the given instance as it now is in the database. They raise `articles.exceptions.ArticleError` children.
"""

from articles.services.editing import edit
from articles.services.publishing import publish_due, publish_now, restore, take_off_due, withdraw
from articles.services.scheduling import cancel_schedule, schedule, schedule_many
from articles.services.submitting import approve, refuse, submit
from articles.services.tasks import mend_tasks, sync_tasks

__all__ = [
    "approve",
    "cancel_schedule",
    "edit",
    "mend_tasks",
    "publish_due",
    "publish_now",
    "refuse",
    "restore",
    "schedule",
    "schedule_many",
    "submit",
    "sync_tasks",
    "take_off_due",
    "withdraw",
]
