"""Everything that changes where an article stands. Admin, REST and commands call these and nothing else.

Each is one transaction that locks the article, asks whether `by` may do it and whether the status allows it, and
leaves the given instance as it now is in the database. They raise `articles.exceptions.ArticleError` children.
"""

from articles.services.claiming import claim, let_go
from articles.services.editing import create, edit, keep_aside, restore_revision
from articles.services.materials import change_material, delete_material, favour, upload
from articles.services.moving import Moment, do_now, do_release_now, move, move_release
from articles.services.policy import choose_policy
from articles.services.preflight import preflight
from articles.services.publishing import kill, publish_due, publish_now, restore, revive, take_off_due, withdraw
from articles.services.rehearsing import rehearse_release
from articles.services.releasing import (
    add_member,
    cancel_release,
    create_release,
    delete_release,
    publish_release_now,
    remove_member,
    rename_release,
    reopen_release,
    roll_back_release,
    schedule_release,
)
from articles.services.scheduling import cancel_schedule, move_many, schedule, schedule_many, set_embargo
from articles.services.submitting import approve, refuse, require_newest, submit
from articles.services.tasks import mend_tasks, sync_tasks
from articles.services.updating import cancel_update, discard_update, publish_update, schedule_update, update_due

__all__ = [
    "Moment",
    "add_member",
    "approve",
    "cancel_release",
    "cancel_schedule",
    "cancel_update",
    "change_material",
    "choose_policy",
    "claim",
    "create",
    "create_release",
    "delete_material",
    "delete_release",
    "discard_update",
    "do_now",
    "do_release_now",
    "edit",
    "favour",
    "keep_aside",
    "kill",
    "let_go",
    "mend_tasks",
    "move",
    "move_many",
    "move_release",
    "preflight",
    "publish_due",
    "publish_now",
    "publish_release_now",
    "publish_update",
    "refuse",
    "rehearse_release",
    "remove_member",
    "require_newest",
    "rename_release",
    "reopen_release",
    "restore",
    "restore_revision",
    "revive",
    "roll_back_release",
    "schedule",
    "schedule_many",
    "schedule_release",
    "schedule_update",
    "set_embargo",
    "submit",
    "sync_tasks",
    "take_off_due",
    "update_due",
    "upload",
    "withdraw",
]
