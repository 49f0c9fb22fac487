"""What a webhook says: public fields, as they are at the moment of sending."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef

from articles.cache import as_readers_see
from articles.distribution import LEADS_TO
from articles.models import (
    NEWSROOM_KINDS,
    Article,
    Delivery,
    Endpoint,
    Event,
    Front,
    FrontVersion,
    Release,
    Update,
    has_readers,
)

Kind, State = Event.Kind, Event.State

TEST = "webhook.test"

_TRUE_KINDS: Mapping[str, Event.Kind] = {
    State.LIVE: Kind.REPUBLISHED,
    State.UNPUBLISHED: Kind.UNPUBLISHED,
    State.DELETED: Kind.UNPUBLISHED,
    State.RETRACTED: Kind.RETRACTED,
}
"""What is said instead of what is not true any more."""


@dataclass(frozen=True)
class EndpointMessage:
    """What is sent; without a body there is nothing to say."""

    delivery: Delivery
    message_id: str
    kind: str
    body: str
    late_ms: int


@dataclass(frozen=True)
class Now:
    """What is true of these articles now."""

    at: datetime
    articles: Mapping[int, Article] = field(default_factory=dict)
    live: Collection[int] = ()
    fronts: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  #: those that readers see
    rolled_back: Collection[int] = ()  #: releases

    def state(self, pk: int) -> Event.State:
        """What readers see of an article."""
        if pk in self.live:
            return State.LIVE
        article = self.articles.get(pk)
        if article is None:
            return State.DELETED
        return State.RETRACTED if article.status == Article.Status.RETRACTED else State.UNPUBLISHED

    def planned(self, pk: int) -> datetime | None:
        """When an approved article goes live."""
        article = self.articles.get(pk)
        return article.goes_live_at if article is not None and article.is_waiting else None


_READ = ("slug", "status", "goes_live_at", "publish_at", "unpublish_at", "embargo_until", "cleared_at")


def look(object_ids: Collection[int], now: datetime, *, is_full: bool) -> Now:
    """Read what is true of these articles at `now`, in a few statements for any number.

    With what is due, also before a worker has stored it: the text that it replaces may never have been out.
    """
    live = Article.objects.live(now).filter(pk=OuterRef("pk"))
    # One statement: of an article that goes live between two, the first might read a text that readers never see.
    update = Update.objects.due(now).filter(article=OuterRef("pk"))
    is_due = Exists(update) | Exists(Release.objects.due(now))
    rows = Article.objects.filter(pk__in=object_ids).annotate(is_seen=Exists(live), is_due=is_due)
    if is_full:
        rows = rows.defer("body").select_related("channel", "author").prefetch_related("tags")
    else:
        rows = rows.only(*_READ)
    found: dict[int, Any] = {one.pk: one for one in rows}
    if any(one.is_due for one in found.values()):
        with as_readers_see():
            found = {one.pk: one for one in rows.all()}
    return Now(now, found, {pk for pk, one in found.items() if one.is_seen})


def messages(endpoint: Endpoint, deliveries: Sequence[Delivery], now: datetime) -> list[EndpointMessage]:
    """What to say now in these deliveries."""
    events = [one.event for one in deliveries if one.event is not None]
    ids = {event.object_id for event in events if event.kind.startswith("article.")}
    present = look(ids, now, is_full=endpoint.is_full) if ids else Now(now)
    present = replace(present, fronts=_fronts(events), rolled_back=_rolled_back(events))
    return [_message(endpoint, one, present) for one in deliveries]


def _fronts(events: Sequence[Event]) -> Mapping[int, Mapping[str, str]]:
    """What is said of the fronts of these events, unless readers no longer see them, as those of a hidden channel."""
    ids = {event.object_id for event in events if event.kind == Kind.FRONT_LIVE}
    if not ids:
        return {}
    seen = FrontVersion.objects.filter(has_readers(), front__in=ids).values("front")
    return {front.pk: front.named for front in Front.objects.filter(pk__in=seen).select_related("channel")}


def _rolled_back(events: Sequence[Event]) -> Collection[int]:
    ids = {event.object_id for event in events if event.kind == Kind.RELEASE_PUBLISHED}
    rows = Release.objects.filter(pk__in=ids, status=Release.Status.ROLLED_BACK)
    return {*rows.values_list("pk", flat=True)} if ids else ()


def _message(endpoint: Endpoint, delivery: Delivery, now: Now) -> EndpointMessage:
    event = delivery.event
    if event is None:
        data: dict[str, Any] = {"attempt": delivery.attempts + 1, "late_ms": 0}
        return _sealed(delivery, f"test_{delivery.pk}", TEST, delivery.due_at, data)
    kind = true_kind(event, now)
    if kind in NEWSROOM_KINDS and kind not in endpoint.heard_kinds():
        kind = ""  # it might hear of it when the event was given to it
    late = max(0, round((now.at - event.happened_at) / timedelta(milliseconds=1)))
    data = {
        "object": event.object_id,
        "revision": event.revision or None,
        "planned_at": _iso(event.planned_at),
        "happened_at": _iso(event.happened_at),
        "late_ms": late,
        "attempt": delivery.attempts + 1,
        **({"release": event.payload["release"]} if event.payload.get("release") else {}),
    }
    if kind not in NEWSROOM_KINDS and event.planned_at and event.planned_at > now.at:
        data["planned_at"] = None  # a plan that is left from before
    if kind == Kind.SCHEDULED:
        data["planned_at"] = _iso(now.planned(event.object_id))
    if kind in LEADS_TO:
        data |= _of_article(event, now, is_full=endpoint.is_full)
    if kind != event.kind and kind not in NEWSROOM_KINDS:
        data["instead_of"] = event.kind
    if kind == Kind.FRONT_LIVE:
        front = now.fronts[event.object_id]
        data |= {"front": front["front"], "url": settings.SITE_URL + front["url"]}
    return _sealed(delivery, f"evt_{event.seq}", kind, event.happened_at, data, late)


def _sealed(
    delivery: Delivery, message_id: str, kind: str, at: datetime, data: Mapping[str, Any], late: int = 0
) -> EndpointMessage:
    body = json.dumps({"type": kind, "timestamp": _iso(at), "data": data}, ensure_ascii=False) if kind else ""
    return EndpointMessage(delivery, message_id, kind, body, late)


def true_kind(event: Event, now: Now) -> str:
    """The kind, or what is true instead; "" if there is nothing to say."""
    pk = event.object_id
    if event.kind in (Kind.SCHEDULED, Kind.UNSCHEDULED):
        if pk in now.live:
            return ""  # another event tells that
        return Kind.SCHEDULED if now.planned(pk) else Kind.UNSCHEDULED
    if event.kind == Kind.FRONT_LIVE:
        return event.kind if pk in now.fronts else ""
    if event.kind == Kind.RELEASE_PUBLISHED and pk in now.rolled_back:
        return Kind.RELEASE_ROLLED_BACK
    if event.kind not in LEADS_TO:
        return event.kind
    state = now.state(pk)
    is_gone = {state, LEADS_TO[event.kind]} == {State.DELETED, State.UNPUBLISHED}
    return event.kind if LEADS_TO[event.kind] == state or is_gone else _TRUE_KINDS[state]


def _of_article(event: Event, now: Now, *, is_full: bool) -> dict[str, Any]:
    """Its state, and what readers may see of it: an address has the words of the headline."""
    state = now.state(event.object_id)
    article = now.articles.get(event.object_id)
    data: dict[str, Any] = {"state": state.value, "url": None}
    if article is not None and state == State.LIVE:
        data["url"] = settings.SITE_URL + article.get_absolute_url()
        data["published_at"] = _iso(article.goes_live_at)
        if is_full:
            data["article"] = _fields(article)
    return data


def _fields(article: Article) -> dict[str, Any]:
    return {
        "title": article.title,
        "summary": article.summary,
        "byline": article.signed,
        "channel": article.channel.slug if article.channel else None,
        "tags": [tag.slug for tag in article.tags.all()],
        "language": article.language,
        "api": f"{settings.SITE_URL}/api/v1/articles/{article.pk}/",
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z") if moment else None
