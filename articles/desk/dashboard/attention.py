"""What waits for somebody: articles in review, one's own drafts, and what will miss or has missed its time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from articles.audit import ADD, allows
from articles.desk.transitions import may_take
from articles.models import Article, Release, Update
from articles.publishing import Actor
from articles.workflow import Transition

Status = Article.Status

SHOWN = 6
OVERDUE_AFTER = timedelta(seconds=5)
"""How long after its time a release is stuck; the engine alarms after the same time."""
_COUNTED = 100  # rows; more are "many"


@dataclass(frozen=True)
class Pile:
    """The first few of some articles, and how many there are; `more` if they were not counted to the end."""

    articles: list[Article]
    count: int
    more: bool = False

    @classmethod
    def of(cls, articles: QuerySet[Article]) -> Pile:
        """Reads the first few, and counts no further than to `_COUNTED`."""
        shown = list(articles.select_related("channel", "author", "soft_lock__user", "update").defer("body")[:SHOWN])
        if len(shown) < SHOWN:
            return cls(shown, len(shown))
        count = len(articles.values_list("pk")[: _COUNTED + 1])
        return cls(shown, min(count, _COUNTED), more=count > _COUNTED)


def reviews(by: Actor) -> bool:
    """Whether this person decides on what others write."""
    return may_take(Transition.APPROVE, by)


def in_review(by: Actor, now: datetime) -> Pile | None:
    """What waits for this reviewer: first what he claimed, then what nobody has; for an author, what is his.

    None for whoever has nothing to do with reviews.
    """
    if reviews(by):
        return _for_reviewer(by, now)
    if not allows(ADD, by):
        return None
    return Pile.of(Article.objects.filter(author=by.pk, status__in=(Status.SUBMITTED, Status.MANUAL_REVIEW)))


def drafts(by: Actor) -> Pile | None:
    """What this person writes, or shall mend, the latest first; None for whoever does not write."""
    if not allows(ADD, by):
        return None
    mine = Article.objects.filter(author=by.pk, status__in=(Status.DRAFT, Status.REJECTED))
    return Pile.of(mine.order_by("-updated_at"))


def concerning(by: Actor, prefix: str = "") -> Q:
    """Those who schedule or approve look after all articles, others after their own; `prefix` leads to the article."""
    everybodys = may_take(Transition.SCHEDULE, by) or reviews(by)
    return Q() if everybodys else Q(**{f"{prefix}author": by.pk})


def overdue(by: Actor, now: datetime) -> Pile:
    """What should be out and is not, the oldest first."""
    return Pile.of(Article.objects.overdue(now).filter(concerning(by)).order_by("publish_at"))


def stuck_releases(by: Actor, now: datetime) -> list[Release]:
    """Releases that failed, or should have gone out, for those who may see releases; the latest first."""
    if not by.has_perm("articles.view_release"):  # type: ignore[union-attr]
        return []
    late = Q(status=Release.Status.SCHEDULED, publish_at__lte=now - OVERDUE_AFTER)
    return list(Release.objects.filter(Q(status=Release.Status.FAILED) | late).order_by("-publish_at")[:SHOWN])


def why_overdue(article: Article) -> str:
    """What keeps an overdue article, for people."""
    if article.status in Status.waiting():
        return _("Readers see it; no worker has noted it yet.")
    return _("It is not approved: “%(status)s”.") % {"status": article.get_status_display()}


def _for_reviewer(by: Actor, now: datetime) -> Pile:
    waiting = Article.objects.filter(pk__in=_in_review_ids())
    if not getattr(by, "is_superuser", False):
        waiting = waiting.exclude(author=by.pk)
    found = sorted(_all_of(waiting), key=lambda article: (_turn(article, by, now), article.changed_at))
    return Pile(found[:SHOWN], min(len(found), _COUNTED), more=len(found) > _COUNTED)


def _in_review_ids() -> Collection[int]:
    """Two short queries: one over both tables at once would read all articles."""
    own = Article.objects.filter(status=Status.MANUAL_REVIEW).order_by("publish_at").values_list("pk", flat=True)
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
