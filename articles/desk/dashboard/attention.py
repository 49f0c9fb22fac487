"""Attention lists of the dashboard: reviews, and own drafts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from articles.desk.transitions import may_take
from articles.models import Article, Update
from articles.permissions import ADD, allows
from articles.publishing import Actor
from articles.review import at_own_stage
from articles.workflow import Transition

Status = Article.Status

MAX_WAITING = 6
_COUNTED = 100  # rows; more are "many"


@dataclass(frozen=True)
class Pile:
    """The first few articles and their number; `more` if counting stopped early."""

    articles: list[Article]
    count: int
    more: bool = False

    @classmethod
    def of(cls, articles: QuerySet[Article]) -> Pile:
        """Read the first few, and count up to `_COUNTED`."""
        shown = list(
            articles.select_related("channel", "author", "soft_lock__user", "update").defer("body")[:MAX_WAITING]
        )
        if len(shown) < MAX_WAITING:
            return cls(shown, len(shown))
        count = len(articles.values_list("pk")[: _COUNTED + 1])
        return cls(shown, min(count, _COUNTED), more=count > _COUNTED)


def reviews(by: Actor) -> bool:
    """Whether the user reviews articles."""
    return may_take(Transition.APPROVE, by)


def in_review(by: Actor, now: datetime) -> Pile | None:
    """For reviewers: articles they claimed, then unclaimed ones. For authors: their own in review.

    None for users without a part in reviews.
    """
    if reviews(by):
        return _for_reviewer(by, now)
    if not allows(ADD, by):
        return None
    return Pile.of(Article.objects.filter(author=by.pk, status__in=(Status.SUBMITTED, Status.MANUAL_REVIEW)))


def drafts(by: Actor) -> Pile | None:
    """Own drafts and rejected articles, latest first; None for users who do not write."""
    if not allows(ADD, by):
        return None
    mine = Article.objects.filter(author=by.pk, status__in=(Status.DRAFT, Status.REJECTED))
    return Pile.of(mine.order_by("-updated_at"))


def concerning(by: Actor, prefix: str = "") -> Q:
    """Restrict to own articles unless the user schedules or approves; `prefix` is the path to the article."""
    everybodys = may_take(Transition.SCHEDULE, by) or reviews(by)
    return Q() if everybodys else Q(**{f"{prefix}author": by.pk})


def _for_reviewer(by: Actor, now: datetime) -> Pile:
    waiting = at_own_stage(Article.objects.filter(pk__in=_in_review_ids()), by)
    if not getattr(by, "is_superuser", False):
        waiting = waiting.exclude(author=by.pk)
    found = sorted(_all_of(waiting), key=lambda article: (_turn(article, by, now), article.changed_at))
    return Pile(found[:MAX_WAITING], min(len(found), _COUNTED), more=len(found) > _COUNTED)


def _in_review_ids() -> Collection[int]:
    """Two short queries; a join of both tables would read all articles."""
    own = Article.objects.filter(status=Status.MANUAL_REVIEW).order_by("goes_live_at").values_list("pk", flat=True)
    pending_update = Update.objects.filter(draft__isnull=False, status=Status.MANUAL_REVIEW).values_list(
        "article", flat=True
    )
    return {*own[: _COUNTED + 1], *pending_update[: _COUNTED + 1]}


def _all_of(articles: QuerySet[Article]) -> list[Article]:
    return list(articles.select_related("channel", "author", "soft_lock__user", "update").defer("body"))


def _turn(article: Any, by: Actor, now: datetime) -> int:
    soft_lock = getattr(article, "soft_lock", None)
    if soft_lock is None or not soft_lock.counts_at(now):
        return 1
    return 0 if soft_lock.user_id == by.pk else 2
