"""Keeping the task of a release true: one is pending if, and only if, the release is scheduled, at its time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import QuerySet

from articles.audit import SAVE, Source, StateSnapshot, record_many, record_release, source
from articles.models import Article, Notification, Release, ReleaseMember, Update
from articles.notifications import notify_of_release
from articles.publishing import RECONCILE_WINDOW, sync_tasks
from articles.task_types import RELEASE
from articles.workflow import TO_COME
from scheduling.services import add_tasks, cancel_keys, lock_by_ids, pending_times, read_database_clock, retried

FAILED = "release_failed"
"""What the audit record calls it when a release could not go out."""

Action = ReleaseMember.Action


def sync_release_tasks(release_ids: Collection[int]) -> None:
    """Make the tasks of these releases what they should be, from what is stored, in the caller's transaction."""
    wanted = _wanted(release_ids)
    add_tasks(
        {"task_type": RELEASE, "execute_time": due, "parameters": {"release_id": int(key)}, "key": key}
        for key, due in wanted.items()
    )
    cancel_keys(RELEASE, [str(pk) for pk in release_ids if str(pk) not in wanted])


def reconcile_releases() -> int:
    """Set right what bypassed the services; returns how many things that were.

    Releases whose time is near but whose task is missing or wrong get it; members that somebody gave a time behind the
    release's back lose it again.
    """
    horizon = read_database_clock() + RECONCILE_WINDOW
    near = list(Release.objects.scheduled().filter(publish_at__lte=horizon).values_list("pk", flat=True))
    return sum(_reconcile(pk) for pk in _wrong(near)) + _take_times_away()


def fail(release: Release, reason: str) -> None:
    """Note that a locked release could not go out, and tell everybody concerned. Its members stay with it."""
    release.status, release.reason = Release.Status.FAILED, reason
    Release.objects.filter(pk=release.pk).update(status=release.status, reason=reason)
    record_release(FAILED, release)
    notify_of_release(Notification.Kind.FAILED, release)


def _wanted(release_ids: Collection[int]) -> dict[str, datetime]:
    rows = Release.objects.scheduled().filter(pk__in=release_ids).values_list("pk", "publish_at")
    return {str(pk): due for pk, due in rows if due is not None}


def _wrong(release_ids: Collection[int]) -> list[int]:
    wanted = _wanted(release_ids)
    pending = pending_times(RELEASE, wanted)
    return [int(key) for key, due in wanted.items() if pending.get(key) != due]


@retried
def _reconcile(release_id: int) -> bool:
    release = lock_by_ids(Release, [release_id], skip_locked=True).first()
    if release is None or not _wrong([release_id]):
        return False
    sync_release_tasks([release_id])
    return True


@retried
def _take_times_away() -> int:
    members = ReleaseMember.objects.filter(holds=True)
    timed = members.filter(action=Action.PUBLISH, article__publish_at__isnull=False)
    articles = [article for article in _locked_articles(timed) if article.status in TO_COME]
    before = [StateSnapshot.of(article) for article in articles]
    for article in articles:
        article.publish_at = None
    Article.objects.filter(pk__in=[article.pk for article in articles]).update(publish_at=None)
    updated = _locked_articles(members.filter(action=Action.UPDATE, article__update__publish_at__isnull=False))
    Update.objects.filter(article__in=updated).update(publish_at=None)
    sync_tasks([article.pk for article in [*articles, *updated]])
    with source(Source.WORKER):
        record_many(SAVE, list(zip(articles, before, strict=True)))
    return len(articles) + len(updated)


def _locked_articles(members: QuerySet[ReleaseMember]) -> list[Article]:
    ids = list(members.values_list("article", flat=True))
    return list(lock_by_ids(Article, ids, skip_locked=True)) if ids else []
