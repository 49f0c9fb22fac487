"""Releases whose time has come: the clock's way of putting all members out in one transaction, or none."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

from django.db import OperationalError, connection, transaction

from articles.models import Article, Notice, Release
from articles.services.noticing import tell_of_release
from articles.services.preferences import speaking_to
from articles.services.preflight import find_problems, loaded_members, spoken_problems
from articles.services.recording import record_release
from articles.services.release_effects import put_out
from articles.services.release_tasks import fail, sync_release_tasks
from articles.services.releasing import lock_members
from scheduling.registry import Drop, Postpone, Verdict
from scheduling.services import read_database_clock

logger = logging.getLogger(__name__)

RELEASED = "released"
"""What the audit record calls it when the clock put a release out."""

_GLANCES, _GLANCE = 10, 0.005  # how often members that somebody holds are tried again, and seconds between
_PATIENCE = timedelta(seconds=1)  # late by more than this, a release queues up for its members instead of glancing
_LOCK_WAIT_TIMEOUT = 1205


def release_due(release_id: int) -> Verdict | None:
    """Put a release out, in the caller's transaction; None when that is done.

    A member that somebody is editing is glanced at for a moment; then the release is postponed as a whole, so that no
    other article is held up. One that is late waits its turn, a second at most for each, so that it is not starved.
    """
    release = Release.objects.locked_if_free().filter(pk=release_id).first()
    if release is None:
        return Postpone() if Release.objects.filter(pk=release_id).exists() else Drop("the release was deleted")
    if release.status != Release.Status.SCHEDULED or release.publish_at is None:
        return Drop(f"the release is {release.status}")
    late = read_database_clock() - release.publish_at
    if late < timedelta():
        transaction.on_commit(partial(sync_release_tasks, [release_id]), robust=True)
        return Drop("the release's time has not come")
    if not (_queue_for_members(release) if late > _PATIENCE else _glance_at_members(release)):
        return Postpone()
    return _run(release, late)


def _run(release: Release, late: timedelta) -> Drop | None:
    members, now = loaded_members(release), read_database_clock()
    with speaking_to(release.made_by):
        problems = find_problems(members, now)
    if problems:
        fail(release, spoken_problems(problems))
        return Drop(f"the release failed: {release.reason}")
    put_out(release, members, at=now, by=None)
    _close(release, now)
    line = partial(logger.info, "released %d articles, late %.0f ms", len(members), late / timedelta(milliseconds=1))
    transaction.on_commit(line, robust=True)
    return None


def _close(release: Release, now: datetime) -> None:
    """Not by `save()`, whose hook would take back the very task that is running."""
    release.status, release.published_at, release.reason = Release.Status.PUBLISHED, now, ""
    values = {name: getattr(release, name) for name in ("status", "published_at", "reason")}
    Release.objects.filter(pk=release.pk).update(**values)
    release.bind_members()
    record_release(RELEASED, release)
    tell_of_release(Notice.Kind.PUBLISHED, release)


def _member_ids(release: Release) -> set[int]:
    return set(release.members.filter(article__isnull=False).values_list("article", flat=True))


def _glance_at_members(release: Release) -> bool:
    """Lock all articles without waiting for anybody; those that are free stay locked while the others are tried."""
    if len(release.members.select_for_update(skip_locked=True).values_list("pk")) < release.members.count():
        return False  # somebody is deleting an article
    missing = _member_ids(release)
    for glance in range(_GLANCES):
        if glance:
            time.sleep(_GLANCE)
        missing -= set(Article.objects.filter(pk__in=missing).locked_if_free().values_list("pk", flat=True))
        if not missing:
            return True
    return False


def _queue_for_members(release: Release) -> bool:
    """Lock all articles in the order of their ids, waiting for each a second at most."""
    try:
        with _short_waits(), transaction.atomic():
            lock_members(release)
    except OperationalError as error:
        if error.args[0] != _LOCK_WAIT_TIMEOUT:
            raise
        return False
    return True


@contextmanager
def _short_waits() -> Iterator[None]:
    if connection.vendor != "mysql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SET innodb_lock_wait_timeout = 1")
        try:
            yield
        finally:
            cursor.execute("SET innodb_lock_wait_timeout = DEFAULT")
