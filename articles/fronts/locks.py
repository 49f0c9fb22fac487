"""Row locks of versions of fronts, in one order: the front, its version, its proposed change."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from articles.exceptions import FrontGone, FrontLive, NotEditable
from articles.models import Front, FrontVersion, Release
from articles.review import needs_second_person
from scheduling.database import ends_before, lock_by_ids, read_database_clock

NOTICE = timedelta(seconds=2)
"""So long before its instant a version stays as it is: a change that is stored just then would be seen afterwards."""


def lock_version(version: FrontVersion) -> datetime:
    """Lock the row until the end of the transaction and load it; the database's time. Raises `FrontGone`."""
    try:
        version.refresh_from_db(from_queryset=lock_by_ids(FrontVersion, [version.pk]))
    except FrontVersion.DoesNotExist as error:
        raise FrontGone from error
    return read_database_clock()


def lock_front(front: Front) -> None:
    """Lock the row of a front. Raises `FrontGone`."""
    if not lock_by_ids(Front, [front.pk]).exists():
        raise FrontGone


def lock_front_of(version: str) -> None:
    """Lock the front of a version, named by its id; of one that is gone, nothing.

    What has passed a check of the other versions' instants is stored before the next such check.
    """
    lock_by_ids(Front, FrontVersion.objects.filter(pk=version).values_list("front", flat=True)).exists()


def unlive(version: FrontVersion) -> datetime:
    """Lock a version that readers have not got. Raises `FrontLive` and `FrontGone`."""
    now = lock_version(version)
    if version.is_live_at(now + NOTICE) or _is_released_at(version, now + NOTICE):
        raise FrontLive
    if version.live_from is not None and version.live_from > now:
        ends_before(version.live_from, now)
    return now


def _is_released_at(version: FrontVersion, now: datetime) -> bool:
    """Whether its release has its instant by then, which no worker has stored yet."""
    if version.status != FrontVersion.Status.IN_RELEASE:
        return False
    return Release.objects.due(now).filter(pk=version.release_id or 0).exists()


def locked_draft(version: FrontVersion) -> datetime:
    """Lock a version that may be edited: one with an instant only if no second person approved it.

    Raises `NotEditable`.
    """
    now = unlive(version)
    if version.status == FrontVersion.Status.SCHEDULED and needs_second_person():
        raise NotEditable(_("Another person has approved this version as it is. Unschedule it before you change it."))
    if version.status == FrontVersion.Status.IN_RELEASE and needs_second_person():
        text = _("Another person has approved this version as it is. Remove it from its release before you change it.")
        raise NotEditable(text)
    return now
