"""Everything that changes where an article stands. Admin, REST and commands call these and nothing else.

Each is one transaction that locks the article, asks whether `by` may do it and whether the status allows it, and
leaves the given instance as it now is in the database. They raise `articles.exceptions.ArticleError` children.
"""

from articles.services.claiming import claim, release
from articles.services.editing import create, edit, keep_aside, restore_revision
from articles.services.materials import change_material, delete_material, favour, upload
from articles.services.moving import Moment, do_now, move
from articles.services.publishing import kill, publish_due, publish_now, restore, revive, take_off_due, withdraw
from articles.services.scheduling import cancel_schedule, move_many, schedule, schedule_many, set_embargo
from articles.services.submitting import approve, refuse, submit
from articles.services.tasks import mend_tasks, sync_tasks
from articles.services.updating import cancel_update, discard_update, publish_update, schedule_update, update_due
from articles.services.writing import be_present, drop_copy, forget_old_copies, keep_copy, leave

__all__ = [
    "Moment",
    "approve",
    "be_present",
    "cancel_schedule",
    "claim",
    "cancel_update",
    "change_material",
    "create",
    "delete_material",
    "discard_update",
    "do_now",
    "drop_copy",
    "edit",
    "favour",
    "forget_old_copies",
    "keep_aside",
    "keep_copy",
    "kill",
    "leave",
    "mend_tasks",
    "move",
    "move_many",
    "publish_due",
    "publish_now",
    "publish_update",
    "refuse",
    "release",
    "restore",
    "restore_revision",
    "revive",
    "schedule",
    "schedule_many",
    "schedule_update",
    "set_embargo",
    "submit",
    "sync_tasks",
    "take_off_due",
    "update_due",
    "upload",
    "withdraw",
]
