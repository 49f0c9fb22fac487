"""Releases: articles, updates and unpublishings that take effect together, in one transaction."""

from articles.releases.dry_run import dry_run_release
from articles.releases.effects import TAKEN_BACK
from articles.releases.manage import (
    CREATED,
    JOINED,
    LEFT,
    RIGHT,
    add_member,
    cancel_release,
    create_release,
    delete_release,
    lock_release,
    publish_release_now,
    remove_member,
    rename_release,
    reopen_release,
    roll_back_release,
    schedule_release,
)
from articles.releases.preflight_checks import Problem, find_problems, members_without_texts, preflight
from articles.releases.reconcile import FAILED, reconcile_releases, sync_release_tasks
from articles.releases.run import PATIENCE, RELEASED, date_release, release_due

__all__ = [
    "CREATED",
    "FAILED",
    "JOINED",
    "LEFT",
    "PATIENCE",
    "Problem",
    "RELEASED",
    "RIGHT",
    "TAKEN_BACK",
    "add_member",
    "cancel_release",
    "create_release",
    "date_release",
    "delete_release",
    "dry_run_release",
    "find_problems",
    "lock_release",
    "members_without_texts",
    "preflight",
    "publish_release_now",
    "reconcile_releases",
    "release_due",
    "remove_member",
    "rename_release",
    "reopen_release",
    "roll_back_release",
    "schedule_release",
    "sync_release_tasks",
]
