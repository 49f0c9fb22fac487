"""Storing what the clock has shown readers: status, audit entry, event and closed task.

Readers see an article from its instant to its end whether or not a worker runs. What changes such an article before
a worker has stored that stores it first, so that no record passes over "published" or "unpublished".
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import Case, F, Q, When
from django.db.models.functions import Coalesce

from articles.audit import (
    Action,
    record_due,
)
from articles.events import ArticlesPublished, ArticlesUnpublished, DueRecorded, emit
from articles.models import Article
from articles.task_types import PUBLISH, UNPUBLISH
from scheduling.database import Statement, among, ends_before, update_statement, write_for
from scheduling.services import execute_keys

Status = Article.Status

BY_CLOCK = "clock"
"""The worker in the record of a task whose effect readers saw before a worker ran it."""

SEEN = Q(unpublish_at__isnull=True) | Q(goes_live_at__lt=F("unpublish_at"))
"""Approved articles that readers see for some time; one that was approved after its end is never seen."""


def store_published(ids: Collection[int]) -> None:
    """Store that these locked articles are live, since their instant. Without ids it only compiles."""
    record_due(Action.PUBLISHED, ids)
    write_for(_published, ids)
    emit(DueRecorded(Action.PUBLISHED, ids))
    if ids:
        emit(ArticlesPublished(ids))


def store_unpublished(ids: Collection[int]) -> None:
    """Store that these locked articles have left the site at their time."""
    record_due(Action.UNPUBLISHED, ids)
    write_for(_unpublished, ids)
    emit(DueRecorded(Action.UNPUBLISHED, ids))
    emit(ArticlesUnpublished(ids, at_set_time=True))


def store_passed(ids: Collection[int]) -> None:
    """Store that those of these locked articles that only the clock has published went live, and close their tasks."""
    waiting = Article.objects.filter(SEEN, pk__in=among(ids), status__in=Status.waiting())
    if passed := list(waiting.values_list("pk", flat=True)):
        store_published(passed)
        # Closed as executed, not cancelled: readers have its effect. A worker that comes later finds nothing to do.
        execute_keys(PUBLISH, [str(pk) for pk in passed], worker=BY_CLOCK)


def follow_clock(article: Article, now: datetime) -> None:
    """Bring a locked article and its row in line with what readers see at `now`."""
    went_live = article.seen_since(now)
    if article.is_waiting and went_live is not None:
        store_passed([article.pk])
        _remember(article, status=Status.PUBLISHED, published_at=went_live)
    elif article.status == Status.PUBLISHED and article.published_at is None and went_live is not None:
        article.published_at = went_live  # a program that stored it as published has left that out
    if article.is_over_at(now):
        store_unpublished([article.pk])
        execute_keys(UNPUBLISH, [str(article.pk)], worker=BY_CLOCK)
        _remember(article, status=Status.UNPUBLISHED)


def has_passed(moment: datetime | None, now: datetime) -> bool:
    """Whether it has; if it is to come, do what a person does again should that last until then.

    `now` is the present: what has passed before cannot be waited for.
    """
    if moment is not None and moment > now:
        ends_before(moment, now)
    return moment is not None and moment <= now


def end_before_next_change(article: Article, now: datetime) -> None:
    """Do again what a person does to a locked article if that lasts until it goes live or leaves the site."""
    for moment in (article.goes_live_at if article.is_waiting else None, article.unpublish_at):
        has_passed(moment, now)


def _remember(article: Article, **stored: Any) -> None:
    """Set values that are in the row already."""
    for name, value in stored.items():
        setattr(article, name, value)
        article.remember(name, value)


def _published(ids: Collection[int]) -> Statement:
    return _note(ids, status=Status.PUBLISHED, published_at=F("goes_live_at"))


def _unpublished(ids: Collection[int]) -> Statement:
    seen = When(goes_live_at__lt=F("unpublish_at"), then=F("goes_live_at"))
    return _note(ids, status=Status.UNPUBLISHED, published_at=Coalesce("published_at", Case(seen)))


def _note(ids: Collection[int], **values: Any) -> Statement:
    """Store what readers see by the clock already, without a signal."""
    return update_statement(Article.objects.filter(pk__in=among(ids)), **values)
