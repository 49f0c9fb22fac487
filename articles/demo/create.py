"""Creating the demo newsroom of newsroom.json, whose times are relative to now."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Group, User
from django.core.files.base import ContentFile
from django.utils.dateparse import parse_duration

from articles import fronts, images, notes, releases
from articles.demo.images import painted
from articles.fronts import Operation, OperationKind
from articles.models import Article, ArticleTemplate, Channel, CoverMode, Image, Release
from articles.publishing import pin_all, tags_named
from articles.text import Selector, plain_text
from scheduling.database import lock_by_ids, read_database_clock, retried

Status = Article.Status

SOURCE = Path(__file__).with_name("newsroom.json")
ORIGIN = "demo:"
"""The prefix of the external ids of demo articles."""

ADMINISTRATOR = "Administrator"
"""The role of a superuser, which needs no group."""

FIRST, APART = timedelta(seconds=25), timedelta(seconds=9)
"""When missed bulletins go live after a restart, and how far apart."""


@dataclass(frozen=True)
class Member:
    """A user of the newsroom; the role is the name of a group, or `ADMINISTRATOR`."""

    name: str
    shown: str
    role: str


def members() -> list[Member]:
    """The users of the newsroom, in the order of the log-in table."""
    return [Member(**user) for user in _source()["people"]]


def is_empty() -> bool:
    """Whether there are no articles yet."""
    return not Article.objects.exists()


def is_password(password: str) -> bool:
    """Whether the administrator of the demo newsroom has this password."""
    admin = User.objects.filter(username=members()[-1].name).first()
    return admin is not None and admin.check_password(password)


@retried
def found(*, password: str) -> None:
    """Create channels, users, images, articles, a release, and a front in each language.

    Existing users keep their password and get the role.
    """
    source = _source()
    channels = {channel["name"]: _channel(position, **channel) for position, channel in enumerate(source["channels"])}
    hashed = make_password(password)
    users = {member.name: _user(member, hashed) for member in members()}
    images = {image["scene"]: _image(by=users["editor"], **image) for image in source["images"]}
    start = read_database_clock().replace(microsecond=0)  # the images took some seconds
    for text in source["articles"]:
        article = _article(text, channels[text["channel"]], users, images, start)
        for note in text.get("notes", ()):
            _note(article, note, users)
    for template in source["templates"]:
        _template(channels[template.pop("channel")], **template)
    for release in source["releases"]:
        _release(release, users[release["by"]], start)
    for front in source["fronts"]:
        _front(front, users[front["by"]], start)


@retried
def renew_missed(*, now: datetime) -> int:
    """Reschedule bulletins and a release whose time passed while no worker ran; returns the number of bulletins."""
    missed = Article.objects.filter(external_id__startswith=ORIGIN, status__in=Status.waiting(), goes_live_at__lte=now)
    locked = lock_by_ids(Article, missed.values_list("pk", flat=True))
    articles = sorted((article for article in locked if article.is_waiting), key=lambda one: one.publish_at or now)
    for number, article in enumerate(articles):
        article.publish_at = now.replace(microsecond=0) + FIRST + number * APART
        article.save()
    for release in Release.objects.scheduled().filter(publish_at__lte=now, name__in=_releases()):
        release.publish_at = now.replace(microsecond=0) + _releases()[release.name]
        release.save()
    return len(articles)


def going_live(now: datetime) -> Iterable[Article]:
    """The scheduled demo articles, soonest first."""
    waiting = Article.objects.filter(external_id__startswith=ORIGIN, status__in=Status.waiting(), goes_live_at__gt=now)
    return waiting.select_related("channel").order_by("goes_live_at")


def going_out(now: datetime) -> Iterable[Release]:
    """The scheduled demo releases, soonest first."""
    return Release.objects.scheduled().filter(publish_at__gt=now, name__in=_releases()).order_by("publish_at")


def _source() -> dict[str, Any]:
    return dict(json.loads(SOURCE.read_text(encoding="utf-8")))


def _channel(position: int, *, name: str, slug: str, description: str) -> Channel:
    values = {"slug": slug, "description": description, "position": position}
    return Channel.objects.get_or_create(name=name, defaults=values)[0]


def _template(channel: Channel, *, name: str, tags: list[str], **text: str) -> None:
    template, _is_new = ArticleTemplate.objects.get_or_create(channel=channel, name=name, defaults=text)
    template.tags.set(tags_named(tags).values())


def _user(member: Member, hashed: str) -> User:
    first, _space, last = member.shown.partition(" ")
    values = {
        "password": hashed,
        "first_name": first,
        "last_name": last,
        "is_staff": True,
        "is_superuser": member.role == ADMINISTRATOR,
    }
    user, _is_new = User.objects.get_or_create(username=member.name, defaults=values)
    user.groups.add(*Group.objects.filter(name=member.role))
    return user


def _image(*, by: User, scene: str, **said: str) -> Image:
    return images.upload(ContentFile(painted(scene), f"{scene}.jpg"), by=by, **said).image


def _body(text: dict[str, Any], images: Mapping[str, Image]) -> str:
    paragraphs = [f"<p>{paragraph}</p>" for paragraph in text["body"]]
    if "figure" in text:
        shown = images[text["figure"]]
        image = f'<img src="{shown.in_texts}" alt="{shown.alt}">'
        paragraphs.insert(1, f"<figure>{image}<figcaption>{shown.caption} © {shown.credit}</figcaption></figure>")
    return "\n\n".join(paragraphs)


def _article(
    text: dict[str, Any], channel: Channel, users: Mapping[str, User], images: Mapping[str, Image], start: datetime
) -> Article:
    status = Status.__members__[text["status"].upper()]
    publish_at = _moment(text.get("at"), start)
    article = Article.objects.create(
        external_id=ORIGIN + text["key"],
        title=text["title"],
        summary=text["summary"],
        body=_body(text, images),
        cover_mode=CoverMode.ONE if "cover" in text else CoverMode.AUTO,
        cover=[images[text["cover"]].pk] if "cover" in text else [],
        channel=channel,
        author=users[text["author"]],
        owner=users[text["owner"]] if "owner" in text else None,
        due_at=_moment(text.get("due"), start),
        status=status,
        status_reason=text.get("reason", ""),
        publish_at=publish_at,
        published_at=publish_at if status in {Status.PUBLISHED, Status.UNPUBLISHED} else None,
        embargo_until=_moment(text.get("embargo"), start),
        unpublish_at=_moment(text.get("unpublish_at"), start),
    )
    article.tags.set(tags_named(text["tags"]).values())
    pin_all([article])
    return article


def _note(article: Article, note: Mapping[str, Any], users: Mapping[str, User]) -> None:
    before, quote, after = plain_text(article.body).partition(note["about"])
    thread = notes.add_note(article, by=users[note["by"]], text=note["text"], about=Selector(quote, before, after))
    for answer in note.get("replies", ()):
        notes.reply(thread, by=users[answer["by"]], text=answer["text"])


def _release(release: dict[str, Any], by: User, start: datetime) -> None:
    made = releases.create_release(name=release["name"], by=by)
    for article in Article.objects.filter(external_id__in=[ORIGIN + key for key in release["articles"]]):
        releases.add_member(made, article=article, by=by)
    releases.schedule_release(made, publish_at=_moment(release["at"], start) or start, by=by)


def _front(front: Mapping[str, Any], by: User, start: datetime) -> None:
    """A version that takes the place of the automatic front while one watches: three cards, then the newest."""
    draft = fronts.start_draft(fronts.open_front(language=front["language"], by=by), by=by)
    top = draft.blocks.earliest("position")
    lead, *others = top.cards.order_by("position")
    removed = [Operation(op=OperationKind.REMOVE_CARD, uuid=card.uuid) for card in others[2:]]
    edited = Operation(op=OperationKind.EDIT_CARD, uuid=lead.uuid, values={"kicker": front["kicker"]})
    fronts.edit_draft(draft, [edited, *removed], base=draft.edits, by=by)
    fronts.schedule_version(draft, live_from=_moment(front["at"], start) or start, by=by)


def _releases() -> dict[str, timedelta]:
    """Name of each release to its offset from now."""
    return {release["name"]: parse_duration(release["at"]) or timedelta() for release in _source()["releases"]}


def _moment(distance: str | None, start: datetime) -> datetime | None:
    """`start` plus an ISO 8601 duration such as "-PT26M"; more than an hour ahead in full quarters of an hour."""
    if distance is None:
        return None
    offset = parse_duration(distance) or timedelta()
    moment = start + offset
    if offset <= timedelta(hours=1):
        return moment
    quarter = moment.replace(minute=moment.minute // 15 * 15, second=0)
    return quarter + timedelta(minutes=15)
