"""Everything that changes an article: edits, review, schedules, transitions, updates and bulk actions.

Each verb is one transaction that locks the article, checks that `by` may do it and that the status allows it, and
leaves the given instance as it is stored. All raise children of `articles.exceptions.ArticleError`.
"""

from articles.publishing.autosave import (
    FormSubmitted as FormSubmitted,
    Typed as Typed,
    drop_autosave as drop_autosave,
    leave as leave,
    mark_present as mark_present,
    prune_autosaves as prune_autosaves,
    save_autosave as save_autosave,
)
from articles.publishing.bulk import (
    advance_bulk_action as advance_bulk_action,
    gather_articles as gather_articles,
    may_be_undone as may_be_undone,
    run_bulk_action as run_bulk_action,
    start_bulk_action as start_bulk_action,
    undo_bulk_action as undo_bulk_action,
)
from articles.publishing.by_clock import (
    BY_CLOCK as BY_CLOCK,
    end_before_next_change as end_before_next_change,
    follow_clock as follow_clock,
)
from articles.publishing.bylines import (
    count_signed as count_signed,
    keep_bylines as keep_bylines,
    propose_name as propose_name,
)
from articles.publishing.channels import save_channel as save_channel
from articles.publishing.comparison import (
    COMPARED_FIELDS as COMPARED_FIELDS,
    FieldDiff as FieldDiff,
    compare as compare,
    compare_texts as compare_texts,
)
from articles.publishing.comparison_in_words import notes as notes
from articles.publishing.consequences import Unconfirmed as Unconfirmed, consequences as consequences
from articles.publishing.dating import (
    date_articles as date_articles,
    date_by_commit as date_by_commit,
    date_later as date_later,
    date_of_late_commit as date_of_late_commit,
    note_dated as note_dated,
)
from articles.publishing.duplicates import duplicate as duplicate
from articles.publishing.edits import (
    EDITABLE as EDITABLE,
    IN_REVIEW as IN_REVIEW,
    apply_import as apply_import,
    create as create,
    edit as edit,
    is_as_seen as is_as_seen,
    restore_revision as restore_revision,
    store_rejected_edit as store_rejected_edit,
)
from articles.publishing.foreign_media import images_to_copy as images_to_copy, with_own_images as with_own_images
from articles.publishing.form import SentForm as SentForm, apply_form as apply_form
from articles.publishing.holds import (
    held as held,
    held_transitions as held_transitions,
    membership as membership,
    refusal_of as refusal_of,
    refuse_held as refuse_held,
)
from articles.publishing.previews import (
    is_creator_authorised as is_creator_authorised,
    make_preview_link as make_preview_link,
    open_link as open_link,
    revoke_preview_link as revoke_preview_link,
)
from articles.publishing.publish import (
    BatchResult as BatchResult,
    prepare_to_publish as prepare_to_publish,
    publish_due as publish_due,
    publish_now as publish_now,
    republish as republish,
    retract as retract,
    undo_retraction as undo_retraction,
    unpublish as unpublish,
    unpublish_due as unpublish_due,
)
from articles.publishing.reconcile import (
    RECONCILE_WINDOW as RECONCILE_WINDOW,
    cancel_all_tasks as cancel_all_tasks,
    count_unscheduled as count_unscheduled,
    reconcile_tasks as reconcile_tasks,
    sync_tasks as sync_tasks,
    sync_tasks_of as sync_tasks_of,
)
from articles.publishing.rescan import (
    reconcile_reviews as reconcile_reviews,
    review_again as review_again,
    review_again_soon as review_again_soon,
    review_submitted as review_submitted,
)
from articles.publishing.resolve import (
    channels_named as channels_named,
    tag_all as tag_all,
    tag_named as tag_named,
    tags_named as tags_named,
    users_named as users_named,
)
from articles.publishing.review_locks import (
    leave_review as leave_review,
    release_soft_lock as release_soft_lock,
    soft_lock as soft_lock,
)
from articles.publishing.revisions import (
    add_revisions as add_revisions,
    date_corrections as date_corrections,
    for_review as for_review,
    is_seen as is_seen,
    last_approved as last_approved,
    pin_all as pin_all,
    pinned as pinned,
    put_into_columns as put_into_columns,
)
from articles.publishing.schedules import (
    PAST as PAST,
    refuse_embargo as refuse_embargo,
    refuse_past as refuse_past,
    reschedule_many as reschedule_many,
    schedule as schedule,
    schedule_many as schedule_many,
    set_embargo as set_embargo,
    unschedule as unschedule,
)
from articles.publishing.shared_pages import (
    is_page as is_page,
    is_sharer_authorised as is_sharer_authorised,
    may_share as may_share,
    note_use as note_use,
    open_shared_page as open_shared_page,
    share_page as share_page,
    unshare_page as unshare_page,
)
from articles.publishing.store import (
    LIST_FIELDS as LIST_FIELDS,
    SHOWN_STATUSES as SHOWN_STATUSES,
    TIMES as TIMES,
    StoredChange as StoredChange,
    checked_time as checked_time,
    follow as follow,
    of_other_code as of_other_code,
    refuse_unstorable_times as refuse_unstorable_times,
    store_article as store_article,
    store_update as store_update,
)
from articles.publishing.submissions import (
    approval_blocker as approval_blocker,
    approve as approve,
    reject as reject,
    require_newest as require_newest,
    submit as submit,
)
from articles.publishing.tags import (
    NO_APPROVAL as NO_APPROVAL,
    delete_tag as delete_tag,
    may_change as may_change,
    rename_tag as rename_tag,
)
from articles.publishing.transitions import (
    Actor as Actor,
    description_of as description_of,
    lock as lock,
    perform as perform,
    position as position,
    position_at as position_at,
    possible_transitions as possible_transitions,
    settle as settle,
    settle_update as settle_update,
    settles as settles,
)
from articles.publishing.updates import (
    adopt_all as adopt_all,
    discard_update as discard_update,
    publish_update as publish_update,
    schedule_update as schedule_update,
    unschedule_update as unschedule_update,
    update_due as update_due,
    wait_for_rows as wait_for_rows,
)
