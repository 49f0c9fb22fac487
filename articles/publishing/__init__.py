"""Everything that changes an article: edits, review, schedules, transitions, updates and bulk actions.

Each verb is one transaction that locks the article, checks that `by` may do it and that the status allows it, and
leaves the given instance as it is stored. All raise children of `articles.exceptions.ArticleError`.
"""

from articles.publishing.autosave import Typed, be_present, drop_copy, forget_old_copies, keep_copy, leave
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
from articles.publishing.holds import held, kept_steps, membership, refusal_of, refuse_held
from articles.publishing.previews import LINK, UNLINK, is_backed, make_preview_link, open_link, revoke_preview_link
from articles.publishing.publish import Outcome, kill, publish_due, publish_now, restore, revive, take_off_due, withdraw
from articles.publishing.reconcile import MENDING_WINDOW, cancel_all_tasks, mend_tasks, sync_tasks
from articles.publishing.rescan import conclude, mend_reviews, review_again, review_again_soon
from articles.publishing.resolve import channels_named, people_named, tag_all, tags_named
from articles.publishing.review_locks import claim, let_go
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
    cancel_schedule,
    checked_time,
    move_many,
    refuse_embargo,
    refuse_past,
    schedule,
    schedule_many,
    set_embargo,
)
from articles.publishing.submissions import approve, barred_from, refuse, require_newest, submit
from articles.publishing.tags import DELETE_TAG, NO_APPROVAL, RENAME_TAG, delete_tag, may_change, rename_tag
from articles.publishing.transitions import Person, lock, open_steps, position, store
from articles.publishing.undo import UNDOABLE
from articles.publishing.updates import (
    adopt_all,
    cancel_update,
    discard_update,
    publish_update,
    schedule_update,
    update_due,
)

__all__ = [
    "FieldDiff",
    "NAMES",
    "compare",
    "what_changed",
    "conclude",
    "mend_reviews",
    "review_again",
    "advance_bulk_action",
    "gather_articles",
    "may_be_undone",
    "start_bulk_action",
    "undo_bulk_action",
    "be_present",
    "drop_copy",
    "forget_old_copies",
    "keep_copy",
    "leave",
    "DELETE_TAG",
    "EDITABLE",
    "IN_REVIEW",
    "LINK",
    "MENDING_WINDOW",
    "NO_APPROVAL",
    "Outcome",
    "PAST",
    "Person",
    "RENAME_TAG",
    "OF_ARTICLES",
    "TIMES",
    "Typed",
    "UNDOABLE",
    "UNLINK",
    "add_revisions",
    "adopt_all",
    "approve",
    "barred_from",
    "cancel_all_tasks",
    "cancel_schedule",
    "cancel_update",
    "carry_on",
    "channels_named",
    "checked_time",
    "claim",
    "create",
    "date_corrections",
    "delete_tag",
    "discard_update",
    "edit",
    "for_review",
    "held",
    "is_backed",
    "keep_aside",
    "kept_steps",
    "kill",
    "last_approved",
    "let_go",
    "lock",
    "make_preview_link",
    "may_change",
    "membership",
    "mend_tasks",
    "move_many",
    "open_link",
    "open_steps",
    "people_named",
    "pin_all",
    "pinned",
    "position",
    "publish_due",
    "publish_now",
    "publish_update",
    "put_into_columns",
    "refusal_of",
    "refuse",
    "refuse_embargo",
    "refuse_held",
    "refuse_past",
    "rename_tag",
    "require_newest",
    "restore",
    "restore_revision",
    "review_again_soon",
    "revive",
    "revoke_preview_link",
    "schedule",
    "schedule_many",
    "schedule_update",
    "set_embargo",
    "stand_in_line",
    "store",
    "submit",
    "sync_tasks",
    "tag_all",
    "tags_named",
    "take_in",
    "take_off_due",
    "update_due",
    "withdraw",
]
