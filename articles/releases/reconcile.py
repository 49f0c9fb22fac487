"""Reconciling releases with their tasks: a scheduled release has one pending task, at its time."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db.models import QuerySet

from articles.audit import (
    Action,
    Source,
    StateSnapshot,
    record_many,
    record_release,
    source,
)
from articles.models import Article, Notification, Release, ReleaseMember, Update
from articles.notifications import notify_of_release
from articles.publishing import RECONCILE_WINDOW, sync_tasks
from articles.task_types import RELEASE
from articles.workflow import TO_COME
from scheduling.database import lock_by_ids, read_database_clock, retried
from scheduling.services import pending_times, set_tasks

MemberAction = ReleaseMember.Action


def sync_release_tasks(release_ids: Collection[int]) -> None:
    """Bring the tasks of these releases in line with their rows, in the caller's transaction."""
    wanted = _wanted(release_ids)
    set_tasks(
        (
            {"task_type": RELEASE, "execute_time": due, "parameters": {"release_id": int(key)}, "key": key}
            for key, due in wanted.items()
        ),
        keys={RELEASE: [str(pk) for pk in release_ids]},
    )


def reconcile_releases() -> int:
    """Repair rows that were changed without the services; returns their number.

    Releases that are due soon get a missing or wrong task; members that were given a time of their own lose it.
    """
    until = read_database_clock() + RECONCILE_WINDOW
    near = list(Release.objects.scheduled().filter(publish_at__lte=until).values_list("pk", flat=True))
    return sum(_reconcile(pk) for pk in _wrong(near)) + _clear_times_of_members()


def fail(release: Release, reason: str) -> None:
    """Store that a locked release could not be published, and notify the users concerned. It keeps its members."""
    release.status, release.reason = Release.Status.FAILED, reason
    Release.objects.filter(pk=release.pk).update(status=release.status, reason=reason)
    record_release(Action.RELEASE_FAILED, release)
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
def _clear_times_of_members() -> int:
    members = ReleaseMember.objects.filter(holds=True)
    timed = members.filter(action=MemberAction.PUBLISH, article__publish_at__isnull=False)
    articles = [article for article in _locked_articles(timed) if article.status in TO_COME]
    before = [StateSnapshot.of(article) for article in articles]
    for article in articles:
        article.publish_at = None
    Article.objects.filter(pk__in=[article.pk for article in articles]).update(publish_at=None)
    updated = _locked_articles(members.filter(action=MemberAction.UPDATE, article__update__publish_at__isnull=False))
    Update.objects.filter(article__in=updated).update(publish_at=None)
    sync_tasks([article.pk for article in [*articles, *updated]])
    with source(Source.WORKER):
        record_many(Action.SAVE, list(zip(articles, before, strict=True)))
    return len(articles) + len(updated)


def _locked_articles(members: QuerySet[ReleaseMember]) -> list[Article]:
    """The articles of these members, locked; not those that have left their release before the lock."""
    ids = list(members.values_list("article", flat=True))
    if not ids:
        return []
    locked = list(lock_by_ids(Article, ids, skip_locked=True))
    still = set(members.filter(article__in=locked).values_list("article", flat=True))
    return [article for article in locked if article.pk in still]
