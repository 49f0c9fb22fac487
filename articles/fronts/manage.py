"""Versions of fronts: drafts, their way to readers at an instant, and back. Once live, a version stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError
from django.db.models import Max, Prefetch
from django.utils.translation import gettext as _

from articles.audit import Action, Actor, record_beside
from articles.exceptions import FrontInstantTaken, TooMany, WrongState
from articles.fronts.automatic import automatic_blocks
from articles.fronts.copies import copy_blocks, store_blocks
from articles.fronts.in_releases import hold, purge, refuse_member, release_of
from articles.fronts.locks import lock_front, lock_front_of, lock_version, locked_draft, unlive
from articles.fronts.operations import texts_of
from articles.fronts.recurrence import Recurrence
from articles.fronts.recurring import forget_rule, occurrences_of, refuse_taken, store_rule
from articles.limits import LABEL_LENGTH, MOST_DRAFTS
from articles.models import Card, Channel, Front, FrontVersion, ProposedChange, Release
from articles.permissions import PUBLISH, require
from articles.publishing import checked_time, refuse_past
from articles.review import (
    Comparison,
    applies,
    discard_changes,
    needs_second_person,
    propose,
    refuse_sensitive,
)
from articles.text import format_time_exactly
from scheduling.database import read_database_clock, retried, savepoint

Status = FrontVersion.Status

CLICKS_WITHIN = timedelta(seconds=10)


@retried
def open_front(*, language: str, channel: Channel | None = None, by: Actor) -> Front:
    """The front of the site or of a channel in a language; it is stored once a user composes it."""
    require(PUBLISH, by)
    if language not in dict(settings.LANGUAGES):
        raise WrongState(_("The site has no such language."))
    return find_or_create_front(language=language, channel=channel)


def find_or_create_front(*, language: str, channel: Channel | None, slug: str = "") -> Front:
    """The front of a language and channel; a new one gets the slug, if it is free."""
    found = Front.objects.filter(language=language, channel=channel).first()
    if found is not None:
        return found
    slug = (slug or f"{language}-{channel.slug}")[:LABEL_LENGTH] if channel else language
    if channel and (slug in dict(settings.LANGUAGES) or Front.objects.filter(slug=slug).exists()):
        slug = f"{language}-channel-{channel.pk}"
    try:
        with savepoint():
            return Front.objects.create(slug=slug, language=language, channel=channel)
    except IntegrityError:  # another person has just opened it
        return Front.objects.get(language=language, channel=channel)


@retried
def start_draft(front: Front, *, like: FrontVersion | None = None, by: Actor) -> FrontVersion:
    """A new draft like the version that readers get, like the automatic front, or like any version. Raises `FrontGone`.

    Cards keep their uuids, so that versions can be compared. Raises `TooMany`.
    """
    require(PUBLISH, by)
    lock_front(front)
    if front.versions.filter(status=Status.DRAFT).count() >= MOST_DRAFTS:
        raise TooMany(
            _("A front has %(most)d drafts at most: delete those that you do not need.") % {"most": MOST_DRAFTS}
        )
    like = like or front.versions.live(read_database_clock()).first()
    # The writers of what is not approved yet are those of a copy, too.
    writers = like.edited_by if like and like.status == Status.DRAFT else []
    version = front.versions.create(number=free_number(front), based_on=like, author_id=by.pk, edited_by=writers)
    if like:
        copy_blocks(like, version)
    else:
        store_blocks(version, automatic_blocks(front))
    based = {"based_on": like.number} if like else {}
    record_beside(Action.START_FRONT, title=str(version), by=by, front_version=version.pk, **based)
    return version


def free_number(front: Front, wanted: int = 0, *, highest: int = 0) -> int:
    """The number of a new version of a locked front: the one wanted if free, else one above all and `highest`."""
    if wanted and not front.versions.filter(number=wanted).exists():
        return wanted
    return max(highest, front.versions.aggregate(last=Max("number"))["last"] or 0) + 1


@retried
def start_once(front: Front, *, like: FrontVersion | None = None, by: Actor) -> FrontVersion:
    """As `start_draft`, but a second click on the button gets the draft of the first one."""
    require(PUBLISH, by)
    lock_front(front)
    recent = front.versions.filter(created_at__gt=read_database_clock() - CLICKS_WITHIN, status=Status.DRAFT)
    recent = recent.filter(author=by.pk, edits=0).order_by("-number")
    found = recent.filter(based_on=like).first() if like else recent.first()
    return found or start_draft(front, like=like, by=by)


@retried
def newest_draft(front: Front, *, by: Actor) -> FrontVersion:
    """The draft on which the newsroom works: who asks at the same time gets the same. Raises `FrontGone`."""
    require(PUBLISH, by)
    lock_front(front)
    found = front.versions.filter(status=Status.DRAFT).order_by("-number").first()
    return found or start_draft(front, by=by)


@retried
def delete_draft(version: FrontVersion, *, by: Actor) -> None:
    """Delete a draft. Raises `FrontGone`, and `WrongState` for a version that has an instant."""
    require(PUBLISH, by)
    lock_version(version)
    if version.status != Status.DRAFT:
        raise WrongState(_("Only drafts are deleted. Unschedule it first."))
    discard_changes(version)
    record_beside(Action.DELETE_FRONT, title=str(version), by=by, front_version=version.pk)
    version.delete()


@retried
def schedule_version(version: FrontVersion, *, live_from: datetime, by: Actor) -> None:
    """Have readers get a version from an instant on, or from another one.

    Raises `NotAllowed`, `FrontGone`, `FrontLive`, `SensitiveText`, `InvalidSchedule`, `TimePast`, and
    `FrontInstantTaken`, which names the version that has this instant. Under the two-person rule it waits for another
    person.
    """
    _give(version, checked_time(live_from), by)


@retried
def repeat_version(version: FrontVersion, *, rule: Recurrence, by: Actor) -> None:
    """Have readers get a version again and again, at each occurrence of a rule. Raises as `schedule_version` does.

    Raises `MissingTime` or `DoubleTime` if a wall time does not exist, or exists twice, and the rule does not say what
    to do then.
    """
    _give(version, None, by, rule=rule)


@retried
def publish_version(version: FrontVersion, *, by: Actor) -> None:
    """Have readers get a version now. Raises as `schedule_version` does."""
    _give(version, None, by)


@retried
def unschedule_version(version: FrontVersion, *, by: Actor) -> None:
    """Make a scheduled version a draft again, or cancel the request for its approval.

    Raises `FrontLive`, and `BelongsToRelease` for a member of one.
    """
    require(PUBLISH, by)
    unlive(version)
    refuse_member(version)
    discard_changes(version)
    if version.status == Status.DRAFT:
        return
    was = {"live_from": version.live_from.isoformat()} if version.live_from else {}
    forget_rule(version)
    version.status, version.live_from = Status.DRAFT, None
    version.save(update_fields=["status", "live_from", "repeats", "updated_at"])
    record_beside(Action.UNSCHEDULE_FRONT, title=str(version), by=by, front_version=version.pk, **was)
    purge(version.front)


def _give(version: FrontVersion, moment: datetime | None, by: Actor, *, rule: Recurrence | None = None) -> None:
    require(PUBLISH, by)
    lock_front(version.front)
    now = locked_draft(version)
    refuse_member(version)
    if moment is not None:
        refuse_past(moment, now, by=by)
        refuse_taken(version, [moment])
    if not version.blocks.exists():
        raise WrongState(_("The front has no blocks yet."))
    refuse_sensitive(*texts_of(version))
    if rule is not None:
        moment = occurrences_of(version, rule, now)[0]
    if needs_second_person():
        repeats = {"repeats": rule.as_json()} if rule else {}
        values = {"status": Status.SCHEDULED.value, "live_from": moment.isoformat() if moment else None, **repeats}
        discard_changes(version)
        propose(version, values, name=str(version), by=by, written_by=version.edited_by)
    elif rule is not None:
        store_rule(version, rule, now, by)
    else:
        _store_instant(version, moment, now, by)


def _store_instant(version: FrontVersion, moment: datetime | None, now: datetime, by: Actor) -> None:
    """Give a locked version its instant. One that has passed by now, while it was written or approved, means now."""
    is_now = moment is None or moment <= now
    version.status, version.live_from = Status.SCHEDULED, now if moment is None else max(moment, now)
    version.edited_by, version.release = [], None
    forget_rule(version)
    refuse_taken(version, [version.live_from])
    try:
        with savepoint():
            version.save(update_fields=["status", "live_from", "repeats", "edited_by", "release", "updated_at"])
    except IntegrityError as error:  # another version has got this instant since
        raise FrontInstantTaken from error
    action = Action.PUBLISH_FRONT if is_now else Action.SCHEDULE_FRONT
    record_beside(
        action, title=str(version), by=by, front_version=version.pk, live_from=version.live_from.isoformat()
    )  # fmt: skip
    purge(version.front)


@applies(
    ProposedChange.Subject.FRONT,
    FrontVersion,
    compare=lambda version, values: list(_compared(version, values)),
    lock=lock_front_of,
)
def _apply(version: FrontVersion, values: Mapping[str, Any], by: Actor) -> None:
    """What another person has approved."""
    now = unlive(version)
    if not values:
        return
    refuse_sensitive(*texts_of(version))
    if values.get("release_id"):
        hold(version, release_of(values["release_id"]), by=by)
        return
    if values.get("repeats"):
        store_rule(version, Recurrence.of(values["repeats"]), now, by)
        return
    wanted = values.get("live_from")
    _store_instant(version, datetime.fromisoformat(wanted).astimezone(UTC) if wanted else None, now, by)


def _compared(version: FrontVersion, values: Mapping[str, Any]) -> Iterable[Comparison]:
    """When it goes live, and each text that readers do not read on the front now."""
    wanted = values.get("live_from")
    release = Release.objects.filter(pk=values.get("release_id") or 0).first()
    when = format_time_exactly(datetime.fromisoformat(wanted)) if wanted else _("at once")
    when = _("with the release “%(release)s”") % {"release": release} if release else when
    yield Comparison("live_from", _("live from"), "", when)
    if values.get("repeats"):
        yield Comparison("repeats", _("repeats"), "", str(Recurrence.of(values["repeats"])))
    live = FrontVersion.objects.live(read_database_clock()).filter(front=version.front_id).first()
    old, new = (_texts_by_card(one) if one else {} for one in (live, version))
    for key in [*new, *(key for key in old if key not in new)]:
        before, after = old.get(key, ""), new.get(key, "")
        if before or after:
            yield Comparison(*key, before, after)


def _texts_by_card(version: FrontVersion) -> dict[tuple[str, str], str]:
    """The texts of a version by card or block and field, with a label for each."""
    found: dict[tuple[str, str], str] = {}
    cards = Card.objects.select_related("image", "article").defer("article__body").order_by("position", "pk")
    blocks = version.blocks.prefetch_related(Prefetch("cards", cards))
    for block in blocks:
        found[f"{block.uuid} title", _("Block: title")] = block.title
        for place, card in enumerate(block.cards.all(), start=1):
            label = f"{block} {place}: "
            found[f"{card.uuid} article", f"{label}{_name('article')}"] = card.article.title if card.article else ""
            found[f"{card.uuid} image", f"{label}{_name('image')}"] = _image(card)
            for name in ("headline", "kicker", "summary", "url"):
                found[f"{card.uuid} {name}", f"{label}{_name(name)}"] = getattr(card, name)
            found[f"{card.uuid} sublinks", f"{label}{_name('sublinks')}"] = "\n".join(map(_line, card.sublinks))
    return found


def _image(card: Card) -> str:
    """What the card shows instead of the article's cover."""
    return _("No image") if card.no_image else str(card.image or "")


def _line(link: Mapping[str, Any]) -> str:
    """A line below a card, with where it leads."""
    where = str(link.get("url") or "") or _("article %(number)d") % {"number": link.get("article") or 0}
    return " → ".join(filter(None, (str(link.get("headline") or ""), where)))


def _name(field: str) -> str:
    return str(Card._meta.get_field(field).verbose_name)  # type: ignore[union-attr]
