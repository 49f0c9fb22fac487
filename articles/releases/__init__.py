"""Releases: articles, updates and unpublishings that take effect together, in one transaction."""

from articles.releases.dry_run import dry_run_release as dry_run_release
from articles.releases.due import as_due as as_due
from articles.releases.manage import (
    RIGHT as RIGHT,
    add_front as add_front,
    add_member as add_member,
    cancel_release as cancel_release,
    create_release as create_release,
    delete_release as delete_release,
    lock_release as lock_release,
    publish_release_now as publish_release_now,
    remove_front as remove_front,
    remove_member as remove_member,
    rename_release as rename_release,
    reopen_release as reopen_release,
    roll_back_release as roll_back_release,
    schedule_release as schedule_release,
)
from articles.releases.past import (
    Past as Past,
    as_was as as_was,
    past_changes_beside as past_changes_beside,
    recorded_since as recorded_since,
)
from articles.releases.preflight_checks import (
    PreflightProblem as PreflightProblem,
    find_problems as find_problems,
    members_without_texts as members_without_texts,
    preflight as preflight,
)
from articles.releases.reconcile import (
    reconcile_releases as reconcile_releases,
    sync_release_tasks as sync_release_tasks,
)
from articles.releases.run import (
    PATIENCE as PATIENCE,
    date_release_by_worker as date_release_by_worker,
    release_due as release_due,
)
