"""What each column of the board holds: a fixed number of statements, each of which reads the heads of indexes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, QuerySet

from articles.desk.monitoring.cards import ArticleCard, BoardCard, ReleaseCard, UpdateCard
from articles.desk.monitoring.filters import Column, Filters
from articles.images import gather_covers
from articles.models import Article, AuditEntry, Release, ReleaseMember, Update, not_over_at, with_releases
from articles.publishing import Actor
from scheduling.database import in_any

Status = Article.Status

LANE_LENGTH = 20
"""Cards of a column."""

SHOWN_UNTIMED = 5
"""Cards of approved articles without a time, above the scheduled ones."""

RECENT = timedelta(days=7)
"""How long an article that went live stays on the board."""

RECENTLY_CHANGED = 200
"""The latest changes, whose drafts are shown however old they are."""

CLOCK_STEP = 15
"""Seconds after which the board is read again though nothing was changed."""

_RELATED = ("channel", "author", "owner", "soft_lock__user")
_TEXTS = ("body", "summary")


@dataclass
class Lane:
    """A column and its cards."""

    column: Column
    cards: list[BoardCard] = field(default_factory=list)

    @property
    def shown(self) -> list[BoardCard]:
        """The first cards."""
        return self.cards[:LANE_LENGTH]

    @property
    def count(self) -> str:
        """Their number; "20+" if there are more."""
        return f"{LANE_LENGTH}+" if len(self.cards) > LANE_LENGTH else str(len(self.cards))


def version(now: datetime) -> str:
    """Differs when something on the board has changed, and every `CLOCK_STEP`, as the clock changes marks."""
    entry = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first()
    changed = Article.objects.order_by("-updated_at", "-pk").values_list("updated_at", flat=True).first()
    return f"{entry}-{changed and round(changed.timestamp() * 1_000_000)}-{int(now.timestamp()) // CLOCK_STEP}"


def lanes(filters: Filters, *, by: Actor, now: datetime) -> list[Lane]:
    """The columns, with the cards that pass the filters."""
    articles, updates = list(_articles(filters, by, now)), list(_updates(filters, by))
    gather_covers([*articles, *(update.article for update in updates)])
    members = _members({article.pk for article in articles} | {update.article_id for update in updates})
    cards: list[BoardCard] = [ArticleCard(article, now, members.get(article.pk)) for article in articles]
    for update in updates:
        cards += UpdateCard.all_of(update, now, members.get(update.article_id))
    cards += [ReleaseCard(release, now) for release in _releases(filters, by)]
    return [Lane(column, sorted(_of(cards, column), key=lambda card: card.place)) for column in Column]


def _of(cards: Iterable[BoardCard], column: Column) -> Iterator[BoardCard]:
    return (card for card in cards if card.column is column)


def _articles(filters: Filters, by: Actor, now: datetime) -> QuerySet[Article]:
    heads = [
        head.values("pk")
        for condition in filters.conditions(by)
        for head in _heads(Article.objects.filter(condition), now)
    ]
    found = Article.objects.filter(pk__in=in_any(*heads))
    return with_releases(found.select_related(*_RELATED, "update").defer(*_TEXTS))


def _heads(rows: QuerySet[Article], now: datetime) -> Iterator[QuerySet[Article]]:
    """Each reads the head of an index, one query per status, because the index is sorted within a status only."""
    most = LANE_LENGTH + 1
    latest = Article.objects.order_by("-updated_at", "-pk").values("pk")[:RECENTLY_CHANGED]
    yield rows.filter(status__in=Status.unapproved(), pk__in=in_any(latest))
    for status in (Status.DRAFT, Status.REJECTED):
        yield rows.filter(status=status, goes_live_at__isnull=True).order_by("-pk")[:most]
        yield rows.filter(status=status, goes_live_at__gt=now - RECENT).order_by("goes_live_at", "pk")[:most]
    for status in Status.in_review():
        yield rows.filter(status=status, goes_live_at__isnull=True).order_by("pk")[:most]
        yield rows.filter(status=status, goes_live_at__isnull=False).order_by("goes_live_at", "pk")[:most]
    for status in Status.waiting():
        waiting = rows.filter(status=status)
        yield waiting.filter(goes_live_at__gt=now).order_by("goes_live_at", "pk")[:most]
        yield waiting.filter(not_over_at(now), goes_live_at__lte=now).order_by("-goes_live_at", "-pk")[:most]
        untimed = waiting.filter(goes_live_at__isnull=True).exclude(pk__in=_in_scheduled_releases())
        yield untimed.order_by("-pk")[: SHOWN_UNTIMED + 1]
    recent = rows.filter(not_over_at(now), status=Status.PUBLISHED, goes_live_at__range=(now - RECENT, now))
    yield recent.order_by("-goes_live_at", "-pk")[:most]


def _in_scheduled_releases() -> QuerySet[ReleaseMember, Any]:
    """They go live with their release, which is on the board itself."""
    members = ReleaseMember.objects.filter(holds=True, release__status=Release.Status.SCHEDULED)
    return members.filter(article__isnull=False).values("article")


def _updates(filters: Filters, by: Actor) -> QuerySet[Update]:
    heads = []
    for condition in filters.conditions(by, "article__"):
        rows = Update.objects.filter(condition).order_by("-updated_at", "-pk")
        heads.append(rows.filter(draft__isnull=False)[: 2 * LANE_LENGTH])
        heads.append(rows.filter(approved__isnull=False, publish_at__isnull=True)[: SHOWN_UNTIMED + 1])
        timed = rows.filter(approved__isnull=False, publish_at__isnull=False)
        heads.append(timed.order_by("publish_at", "pk")[: LANE_LENGTH + 1])
    related = (f"article__{name}" for name in _RELATED)
    texts = [f"{row}__{name}" for row in ("article", "draft", "approved") for name in _TEXTS]
    found = Update.objects.filter(pk__in=in_any(*(head.values("pk") for head in heads)))
    return found.select_related(*related, "draft", "approved").defer(*texts)


def _releases(filters: Filters, by: Actor) -> Iterable[Release]:
    """Scheduled releases, for users who may view releases."""
    if not by.has_perm("articles.view_release"):  # type: ignore[union-attr]
        return []
    rows = Release.objects.scheduled()
    if filters.is_narrow:
        members = (ReleaseMember.objects.filter(condition) for condition in filters.conditions(by, "article__"))
        rows = rows.filter(pk__in=in_any(*(found.values("release") for found in members)))
    return rows.order_by("publish_at", "pk").annotate(number=Count("members"))[: LANE_LENGTH + 1]


def _members(article_ids: Iterable[int]) -> Mapping[int | None, ReleaseMember]:
    members = ReleaseMember.objects.holding(list(article_ids)).select_related("release")
    return {member.article_id: member for member in members}
