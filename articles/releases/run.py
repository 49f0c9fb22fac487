"""Releases whose time has come: the clock's way of putting all members out in one transaction, or none."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction

from articles.audit import record_release
from articles.models import Article, Notification, Release, ReleaseMember
from articles.notifications import notify_of_release, speaking_to
from articles.publishing import stand_in_line
from articles.releases.effects import put_out
from articles.releases.preflight_checks import find_problems, loaded_members, spoken_problems
from articles.releases.reconcile import fail, sync_release_tasks
from scheduling.registry import Drop, Postpone, Verdict
from scheduling.services import lock_by_ids, read_database_clock

logger = logging.getLogger(__name__)

RELEASED = "released"
"""What the audit record calls it when the clock put a release out."""

PATIENCE = 0.05  # seconds in all that releases wait for members while they hold others
_GLANCE = 0.005  # seconds between two looks at members that somebody holds

_busy: dict[int, set[int]] = {}
"""The members that each release lacked when this process tried it last; a mere hint."""


def release_due(release_id: int, *, until: float) -> Verdict | None:
    """Put a release out, in the caller's transaction; None when that is done.

    While members are held by others, the release waits until that instant of `time.monotonic()` and is postponed as a
    whole then: the next sweep gives its task out again.
    """
    release = lock_by_ids(Release, [release_id], skip_locked=True).first()
    if release is None:
        return Postpone() if Release.objects.filter(pk=release_id).exists() else Drop("the release was deleted")
    if release.status != Release.Status.SCHEDULED or release.publish_at is None:
        return Drop(f"the release is {release.status}")
    began, late = time.monotonic(), read_database_clock() - release.publish_at
    if late < timedelta():
        transaction.on_commit(partial(sync_release_tasks, [release_id]), robust=True)
        return Drop("the release's time has not come")
    if not _hold_members(release, until):
        return Postpone()
    return _run(release, late, began)


def _run(release: Release, late: timedelta, began: float) -> Drop | None:
    members, now = loaded_members(release), read_database_clock()
    with speaking_to(release.created_by):
        problems = find_problems(members, now)
    if problems:
        fail(release, spoken_problems(problems))
        return Drop("the release failed; its page says why")  # the reason names headlines, a record is for operators
    put_out(release, members, at=now, by=None)
    _close(release, now)
    transaction.on_commit(partial(_log_lateness, len(members), late, began), robust=True)
    return None


def _log_lateness(members: int, found_late: timedelta, began: float) -> None:
    """With all that was waited for since it `began`."""
    late = found_late / timedelta(milliseconds=1) + (time.monotonic() - began) * 1000
    logger.info("released %d articles, late %.0f ms", members, late)


def _close(release: Release, now: datetime) -> None:
    """Not by `save()`, whose hook would take back the very task that is running."""
    release.status, release.published_at, release.reason = Release.Status.PUBLISHED, now, ""
    values = {name: getattr(release, name) for name in ("status", "published_at", "reason")}
    Release.objects.filter(pk=release.pk).update(**values)
    release.bind_members()
    record_release(RELEASED, release)
    notify_of_release(Notification.Kind.PUBLISHED, release)


def _member_ids(release: Release) -> set[int]:
    return set(release.members.filter(article__isnull=False).values_list("article", flat=True))


def _hold_members(release: Release, until: float) -> bool:
    """Lock all members without waiting for anybody; those that are free stay locked while the others are tried.

    A member that was busy the last time is waited for before any other is held, so that those who take turns with it
    neither starve the release nor hold up the other members.
    """
    first = _busy.pop(release.pk, set())
    if first and not stand_in_line(first):
        return False
    articles, places = _member_ids(release), set(release.members.values_list("pk", flat=True))
    while True:
        articles -= _taken(Article, articles)
        places -= _taken(ReleaseMember, places)  # who deletes an article holds its place
        if not (articles or places):
            return True
        if time.monotonic() > until:
            _busy[release.pk] = articles
            return False
        time.sleep(_GLANCE)


def _taken(model: type[Article | ReleaseMember], ids: Collection[int]) -> set[int]:
    """Lock those that are free."""
    return set(lock_by_ids(model, ids, skip_locked=True).values_list("pk", flat=True)) if ids else set()
