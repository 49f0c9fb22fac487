"""Versions of fronts in releases: live at the instant of the release, and gone again with its roll-back.

The caller has locked the release, which comes before the versions in the order of all locks.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q
from django.utils.translation import gettext as _

from articles.audit import Action, Actor, NewEvent, record_in_release, write_events
from articles.cache import channel_tag, front_tag, purge_tags, schedule_purge
from articles.exceptions import BelongsToRelease, WrongState
from articles.fronts.copies import copy_blocks
from articles.fronts.locks import lock_front, locked_draft, unlive
from articles.fronts.operations import texts_of
from articles.models import Event, Front, FrontSeries, FrontVersion, Release, contains, has_readers
from articles.permissions import PUBLISH, require
from articles.review import discard_changes, needs_second_person, propose, refuse_sensitive, waits
from articles.text import format_time_exactly
from scheduling.database import lock_by_ids

Status = FrontVersion.Status


def join_release(version: FrontVersion, release: Release, *, by: Actor) -> None:
    """Have readers get a draft with a locked release; under the two-person rule, another person approves that first.

    Raises `NotAllowed`, `FrontGone`, `FrontLive`, `BelongsToRelease`, `SensitiveText`, and `WrongState` if another
    version of the front is in the release.
    """
    require(PUBLISH, by)
    locked_draft(version)
    if version.status == Status.IN_RELEASE and version.release_id == release.pk:
        return
    refuse_member(version)
    if not version.blocks.exists():
        raise WrongState(_("The front has no blocks yet."))
    _refuse_second(version, release)
    refuse_sensitive(*texts_of(version))
    if needs_second_person():
        discard_changes(version)
        values = {"status": Status.IN_RELEASE.value, "release_id": release.pk}
        propose(version, values, name=str(version), by=by, written_by=version.edited_by)
    else:
        hold(version, release, by=by)


def hold(version: FrontVersion, release: Release, *, by: Actor) -> None:
    """Store that a locked and approved version is a member of a release. Raises `WrongState`."""
    _refuse_second(version, release)
    version.series.all().delete()
    version.status, version.release, version.live_from, version.edited_by = Status.IN_RELEASE, release, None, []
    version.repeats = None
    version.save(update_fields=["status", "release", "live_from", "repeats", "edited_by", "updated_at"])
    record_in_release(Action.ADD_FRONT, release, title=str(version), by=by, front_version=version.pk)
    purge(version.front)  # it may have had an instant of its own


def leave_release(version: FrontVersion, release: Release, *, by: Actor) -> None:
    """Make a member a draft again. Raises `FrontGone`, and `WrongState` if it is no member of the release."""
    require(PUBLISH, by)
    unlive(version)
    if version.status != Status.IN_RELEASE or version.release_id != release.pk:
        raise WrongState(_("This version is not in the release."))
    version.status, version.release = Status.DRAFT, None
    version.save(update_fields=["status", "release", "updated_at"])
    record_in_release(Action.REMOVE_FRONT, release, title=str(version), by=by, front_version=version.pk)


def refuse_member(version: FrontVersion) -> None:
    """Raise `BelongsToRelease` for a version whose time is that of its release."""
    if version.status == Status.IN_RELEASE and version.release:
        text = _("“%(article)s” belongs to the release “%(release)s”; remove it from the release first.")
        raise BelongsToRelease(text % {"article": version, "release": version.release})


def versions_in(release: Release) -> list[FrontVersion]:
    """The versions that go live with a release that is to come."""
    return list(release.front_versions.filter(status=Status.IN_RELEASE).select_related("front__channel").order_by("pk"))


def lock_versions(release: Release) -> None:
    """Lock all versions that have been added to a release."""
    list(lock_by_ids(FrontVersion, release.front_versions.values_list("pk", flat=True)).values_list("pk"))


def problems_of(version: FrontVersion, moment: datetime) -> Iterable[tuple[str, str]]:
    """The blocking issues of a member at `moment`, each with a code."""
    if not version.blocks.exists():
        yield "front_empty", _("The front has no blocks yet.")
    other = taken_by(version, moment)
    if other is not None:
        text = _("Version %(number)d of this front goes live at the same time, %(time)s. Choose another time.")
        yield "front_instant_taken", text % {"number": other.number, "time": format_time_exactly(moment)}


def taken_by(version: FrontVersion, moment: datetime) -> FrontVersion | None:
    """Another version that goes live at this instant, also with a release: of two releases, the older one's."""
    held = Q(status=Status.IN_RELEASE, release__in=Release.objects.scheduled(), release__publish_at=moment)
    if version.status == Status.IN_RELEASE:
        held &= Q(release__lt=version.release_id)
    recurring = Q(pk__in=FrontSeries.objects.filter(contains(moment), front=version.front_id).values("version"))
    others = FrontVersion.objects.filter(Q(live_from=moment) | recurring | held, front=version.front_id)
    return others.exclude(pk=version.pk).order_by("number").first()


def publish_versions(release: Release, *, at: datetime, by: Actor | None) -> None:
    """Give the members of a release to readers from the instant `at` on."""
    for version in versions_in(release):
        version.status, version.live_from, version.edited_by = Status.SCHEDULED, at, []
        version.save(update_fields=["status", "live_from", "edited_by", "updated_at"])
        when = {"live_from": at.isoformat()}
        record_in_release(Action.PUBLISH_FRONT, release, title=str(version), by=by, front_version=version.pk, **when)
        purge(version.front)


def roll_back_versions(release: Release, *, at: datetime, by: Actor) -> None:
    """End what has gone live with a release: readers get the version before it, or a later one, again."""
    ended = release.front_versions.filter(status=Status.SCHEDULED, live_until=None).select_related("front__channel")
    for version in ended:
        was_seen = FrontVersion.objects.live(at).filter(has_readers(), pk=version.pk).exists()
        version.live_until = at
        version.save(update_fields=["live_until", "updated_at"])
        if was_seen:
            _write_shown_again(version.front, at)
        record_in_release(Action.ROLL_BACK_FRONT, release, title=str(version), by=by, front_version=version.pk)
        purge(version.front)


def _write_shown_again(front: Front, at: datetime) -> None:
    """Write the event that readers get an earlier version again, or the automatic front (revision 0)."""
    number = FrontVersion.objects.live(at).filter(front=front).values_list("number", flat=True).first() or 0
    write_events([NewEvent(Event.Kind.FRONT_LIVE, front.pk, number, payload=front.named)])


def free_versions(release: Release) -> None:
    """Make the members of a cancelled or deleted release drafts, which come back if it is reopened."""
    for version in versions_in(release):
        version.status = Status.DRAFT
        version.save(update_fields=["status", "updated_at"])


def hold_again(release: Release, *, by: Actor) -> None:
    """Have what was in a cancelled release, or a copy of what was live, in it again; not what is not approved."""
    for version in release.front_versions.select_related("front__channel").order_by("pk"):
        is_unapproved = needs_second_person() and (bool(version.edited_by) or waits(version))
        if version.status == Status.DRAFT and not is_unapproved:
            hold(version, release, by=by)
            continue
        version.release = None
        version.save(update_fields=["release", "updated_at"])
        if version.live_until is not None:
            hold(_copy_of(version, by), release, by=by)


def purge(front: Front) -> None:
    """What shows the front: its pages, and the list that a channel has without one.

    Pages that are kept until the next change do not know of an instant that has been stored since.
    """
    tags = [front_tag(front.language, front.channel_id), *([channel_tag(front.channel_id)] if front.channel_id else [])]
    purge_tags(*tags)
    schedule_purge(tags=tags)


def release_of(values: object) -> Release:
    """The locked release of an approved change. Raises `WrongState` if it takes no members any more."""
    pk = values if isinstance(values, int) else 0
    release = lock_by_ids(Release, [pk]).first()
    if release is None or not release.is_pending:
        raise WrongState(_("The release takes no fronts any more."))
    return release


def _refuse_second(version: FrontVersion, release: Release) -> None:
    other = FrontVersion.objects.filter(front=version.front_id, release=release).exclude(pk=version.pk).first()
    if other is not None:
        raise WrongState(_("Version %(number)d of this front is in the release already.") % {"number": other.number})


def _copy_of(version: FrontVersion, by: Actor) -> FrontVersion:
    lock_front(version.front)
    last = version.front.versions.order_by("-number").values_list("number", flat=True).first() or 0
    copy = version.front.versions.create(number=last + 1, based_on=version, author_id=by.pk)
    copy_blocks(version, copy)
    return copy
