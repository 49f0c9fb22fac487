"""Everything that changes an article: edits, review, schedules, transitions, updates and bulk actions.

Each verb is one transaction that locks the article, checks that `by` may do it and that the status allows it, and
leaves the given instance as it is stored. All raise children of `articles.exceptions.ArticleError`.
"""

from articles.publishing.autosave import Typed, drop_autosave, leave, mark_present, prune_autosaves, save_autosave
from articles.publishing.bulk import (
    advance_bulk_action,
    carry_on,
    gather_articles,
    may_be_undone,
    start_bulk_action,
    undo_bulk_action,
)
from articles.publishing.comparison import NAMES, FieldDiff, compare, what_changed
from articles.publishing.edits import EDITABLE, IN_REVIEW, TIMES, create, edit, keep_aside, restore_revision, take_in
from articles.publishing.holds import held, held_transitions, membership, refusal_of, refuse_held
from articles.publishing.previews import LINK, UNLINK, is_backed, make_preview_link, open_link, revoke_preview_link
from articles.publishing.publish import (
    Outcome,
    publish_due,
    publish_now,
    republish,
    retract,
    undo_retraction,
    unpublish,
    unpublish_due,
)
from articles.publishing.reconcile import RECONCILE_WINDOW, cancel_all_tasks, reconcile_tasks, sync_tasks
from articles.publishing.rescan import conclude, reconcile_reviews, review_again, review_again_soon
from articles.publishing.resolve import channels_named, tag_all, tags_named, users_named
from articles.publishing.review_locks import release_soft_lock, soft_lock
from articles.publishing.revisions import (
    add_revisions,
    date_corrections,
    for_review,
    last_approved,
    pin_all,
    pinned,
    put_into_columns,
)
from articles.publishing.row_queue import stand_in_line
from articles.publishing.schedules import (
    PAST,
    checked_time,
    refuse_embargo,
    refuse_past,
    reschedule_many,
    schedule,
    schedule_many,
    set_embargo,
    unschedule,
)
from articles.publishing.submissions import approve, barred_from, reject, require_newest, submit
from articles.publishing.tags import DELETE_TAG, NO_APPROVAL, RENAME_TAG, delete_tag, may_change, rename_tag
from articles.publishing.transitions import Actor, lock, position, possible_transitions, store
from articles.publishing.undo import UNDOABLE
from articles.publishing.updates import (
    adopt_all,
    discard_update,
    publish_update,
    schedule_update,
    unschedule_update,
    update_due,
)

__all__ = [
    "Actor",
    "DELETE_TAG",
    "EDITABLE",
    "FieldDiff",
    "IN_REVIEW",
    "LINK",
    "NAMES",
    "NO_APPROVAL",
    "Outcome",
    "PAST",
    "RECONCILE_WINDOW",
    "RENAME_TAG",
    "TIMES",
    "Typed",
    "UNDOABLE",
    "UNLINK",
    "add_revisions",
    "adopt_all",
    "advance_bulk_action",
    "approve",
    "barred_from",
    "cancel_all_tasks",
    "carry_on",
    "channels_named",
    "checked_time",
    "compare",
    "conclude",
    "create",
    "date_corrections",
    "delete_tag",
    "discard_update",
    "drop_autosave",
    "edit",
    "for_review",
    "gather_articles",
    "held",
    "held_transitions",
    "is_backed",
    "keep_aside",
    "last_approved",
    "leave",
    "lock",
    "make_preview_link",
    "mark_present",
    "may_be_undone",
    "may_change",
    "membership",
    "open_link",
    "pin_all",
    "pinned",
    "position",
    "possible_transitions",
    "prune_autosaves",
    "publish_due",
    "publish_now",
    "publish_update",
    "put_into_columns",
    "reconcile_reviews",
    "reconcile_tasks",
    "refusal_of",
    "refuse_embargo",
    "refuse_held",
    "refuse_past",
    "reject",
    "release_soft_lock",
    "rename_tag",
    "republish",
    "require_newest",
    "reschedule_many",
    "restore_revision",
    "retract",
    "review_again",
    "review_again_soon",
    "revoke_preview_link",
    "save_autosave",
    "schedule",
    "schedule_many",
    "schedule_update",
    "set_embargo",
    "soft_lock",
    "stand_in_line",
    "start_bulk_action",
    "store",
    "submit",
    "sync_tasks",
    "tag_all",
    "tags_named",
    "take_in",
    "undo_bulk_action",
    "undo_retraction",
    "unpublish",
    "unpublish_due",
    "unschedule",
    "unschedule_update",
    "update_due",
    "users_named",
    "what_changed",
]
