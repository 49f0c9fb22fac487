"""Publishing releases that are due: all members in one transaction, or none."""

from __future__ import annotations

import time
from collections.abc import Collection
from datetime import datetime
from functools import partial

from django.db import transaction

from articles.audit import Action, Source, record_release, source
from articles.fronts import lock_versions, versions_in
from articles.models import Article, Notification, Release, ReleaseMember
from articles.notifications import notify_of_release, speaking_to
from articles.publishing import BY_CLOCK, date_by_commit, date_later, note_dated, settles, wait_for_rows
from articles.releases.effects import apply_release
from articles.releases.preflight_checks import find_problems, list_problems, loaded_members
from articles.releases.reconcile import fail, sync_release_tasks
from articles.task_types import RELEASE
from scheduling.database import Collision, ends_before, lock_by_ids, read_database_clock, retried
from scheduling.registry import Drop, Postpone, Verdict
from scheduling.services import execute_keys

PATIENCE = 0.05  # seconds in total that releases wait for members while holding others
_POLL = 0.005  # seconds between two attempts to lock members

_busy: dict[int, set[int]] = {}
"""The members that were locked when this process last tried each release; only a hint."""


def release_due(release_id: int, *, until: float) -> Verdict | None:
    """Publish a release, in the caller's transaction; None when that is done.

    While members are locked by others, it waits until that instant of `time.monotonic()`, and is then postponed as a
    whole: the next sweep requeues its task.
    """
    release = lock_by_ids(Release, [release_id], skip_locked=True).first()
    if release is None:
        return Postpone() if Release.objects.filter(pk=release_id).exists() else Drop("the release was deleted")
    if release.status != Release.Status.SCHEDULED or release.publish_at is None:
        return Drop(f"the release is {release.status}")
    if read_database_clock() < release.publish_at:
        transaction.on_commit(partial(sync_release_tasks, [release_id]), robust=True)
        return Drop("the release's time has not come")
    if not _lock_members(release, until):
        return Postpone()
    return _run(release)


def _run(release: Release) -> Drop | None:
    """As of its instant: from then on readers see it by the clock, or do not because it fails."""
    lock_versions(release)
    members, at = loaded_members(release), release.due_since
    with speaking_to(release.created_by):
        problems = find_problems(members, versions_in(release), at)
    if problems:
        fail(release, list_problems(problems))
        return Drop("the release failed; its page says why")  # without headlines: operators read this
    apply_release(release, members, at=at, by=None)
    _close(release, at)
    return None


def settle_release(release: Release, now: datetime) -> None:
    """Store that a locked release has taken effect by the clock, or has failed, before a person changes it."""
    if release.status != Release.Status.SCHEDULED or release.publish_at is None:
        return
    if release.publish_at > now:
        ends_before(release.publish_at, now)
        return
    list(lock_by_ids(Article, _member_ids(release)).values_list("pk"))
    list(lock_by_ids(ReleaseMember, release.members.values_list("pk", flat=True)).values_list("pk"))
    _settle(release)


@settles(Release)
def store_seen_release(release_id: int) -> None:
    """The same for the release of a locked article; raises `Collision` where another transaction has a part of it."""
    # The order is the release first, so this one does not wait while it has an article.
    release = lock_by_ids(Release, [release_id], skip_locked=True).first()
    if release is None or not _lock_members(release, time.monotonic() + PATIENCE):
        raise Collision(release_id)
    if release.status == Release.Status.SCHEDULED:
        _settle(release)


def _settle(release: Release) -> None:
    with source(Source.WORKER):  # it is not what the person does, who only comes before a worker
        failure = _run(release)
    if failure is None:
        execute_keys(RELEASE, [str(release.pk)], worker=BY_CLOCK)
    else:
        sync_release_tasks([release.pk])


def _close(release: Release, at: datetime) -> None:
    """Not by `save()`, whose receiver would cancel the task that is running."""
    release.status, release.published_at, release.reason = Release.Status.PUBLISHED, at, ""
    values = {name: getattr(release, name) for name in ("status", "published_at", "reason")}
    Release.objects.filter(pk=release.pk).update(**values)
    release.bind_members()
    record_release(Action.RELEASED, release)
    notify_of_release(Notification.Kind.PUBLISHED, release)


@retried
def date_release(release_id: int, committed_at: datetime) -> None:
    """Date a release that a person published, and what it showed readers, by its commit: they saw none of it before.

    Articles that someone has locked are dated later.
    """
    release = lock_by_ids(Release, [release_id]).first()
    if release is None or release.status != Release.Status.PUBLISHED or release.published_at is None:
        return
    before = release.published_at
    _date_locked(release, before, committed_at)
    note_dated("release", [release.pk], before)


@retried
def date_release_by_worker(
    release_id: int, before: datetime, committed_at: datetime, *, until: datetime
) -> Postpone | None:
    """The same for a release that has still the time `before`, and for what its transaction had stored `until` then.

    Postponed while someone has the release: the process that dates it waits for the task, which must not wait for it.
    """
    release = lock_by_ids(Release, [release_id], skip_locked=True).first()
    if release is None:
        return Postpone() if Release.objects.filter(pk=release_id).exists() else None
    if release.status == Release.Status.PUBLISHED and release.published_at == before:
        _date_locked(release, before, committed_at, until=until)
    return None


def _date_locked(release: Release, before: datetime, committed_at: datetime, *, until: datetime | None = None) -> None:
    if before >= committed_at:
        return
    members = _member_ids(release)
    locked = members - {*date_by_commit(members, before, committed_at, until=until)}
    date_later("article", locked, before, committed_at=committed_at)
    Release.objects.filter(pk=release.pk).update(publish_at=committed_at, published_at=committed_at)


def date_release_on_commit(release: Release) -> None:
    """The same after this commit, or later by a worker if this process dies before that."""
    if release.published_at is not None:
        date_later("release", [release.pk], release.published_at)
    transaction.on_commit(partial(_date, release), robust=True)


def _date(release: Release) -> None:
    date_release(release.pk, read_database_clock())
    release.refresh_from_db(fields=["publish_at", "published_at"])


def _member_ids(release: Release) -> set[int]:
    return set(release.members.filter(article__isnull=False).values_list("article", flat=True))


def _lock_members(release: Release, until: float) -> bool:
    """Lock all members; those that are free stay locked while the others are tried.

    It queues for members that were locked the last time before it locks any other, so that editors who take turns with
    one neither starve the release nor block the other members.
    """
    first = _busy.pop(release.pk, set())
    if first and not wait_for_rows(first):
        return False
    articles, rows = _member_ids(release), set(release.members.values_list("pk", flat=True))
    while True:
        articles -= _locked(Article, articles)
        rows -= _locked(ReleaseMember, rows)  # a deletion of an article holds its member's row
        if not (articles or rows):
            return True
        if time.monotonic() > until:
            _busy[release.pk] = articles
            return False
        time.sleep(_POLL)


def _locked(model: type[Article | ReleaseMember], ids: Collection[int]) -> set[int]:
    """Lock those that are free."""
    return set(lock_by_ids(model, ids, skip_locked=True).values_list("pk", flat=True)) if ids else set()
