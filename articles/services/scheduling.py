"""Giving an approved article its time, moving it and taking it away."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from articles.exceptions import InvalidSchedule
from articles.models import Article
from articles.services.recording import Standing, record_many
from articles.services.steps import Person, require, taking
from articles.services.tasks import sync_tasks
from articles.workflow import STEPS, WAITING, Step
from scheduling.exceptions import NaiveTime, TimeOutOfRange
from scheduling.services import read_database_clock

EARLIEST = datetime(1000, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, tzinfo=UTC)


def schedule(article: Article, *, publish_at: datetime, by: Person) -> None:
    """Have an approved article go live at `publish_at`; a time that is past means at once.

    Raises `InvalidSchedule` for a time without a zone, one no database stores, or one at or after its end.
    """
    moment = checked_time(publish_at)
    with taking(Step.SCHEDULE, article, by=by):
        article.publish_at = moment
        refuse_empty_span(article)


def schedule_many(articles: Iterable[Article], *, publish_at: datetime, by: Person) -> int:
    """Have all of these that are approved go live at `publish_at`, in a few statements; returns how many those are.

    Articles in another status are left as they are. Raises as `schedule` does, and then changes none.
    """
    moment = checked_time(publish_at)
    require(STEPS[Step.SCHEDULE].permission, by)
    with transaction.atomic():
        chosen = Article.objects.filter(pk__in=[article.pk for article in articles], status__in=WAITING)
        rows = list(chosen.only("title", *Standing.COLUMNS).locked())
        before = [Standing.of(row) for row in rows]
        for row in rows:
            row.publish_at = moment
            refuse_empty_span(row)
        ids = [row.pk for row in rows]
        Article.objects.filter(pk__in=ids).update(publish_at=moment, updated_at=read_database_clock())
        sync_tasks(ids)
        record_many(Step.SCHEDULE, zip(rows, before, strict=True), by=by)
    return len(ids)


def cancel_schedule(article: Article, *, by: Person) -> None:
    """Take the time away: the article keeps its text and its approval, and does not go live."""
    with taking(Step.CANCEL_SCHEDULE, article, by=by):
        article.publish_at = None


def checked_time(value: datetime) -> datetime:
    """`value` in UTC. Raises `InvalidSchedule`."""
    if timezone.is_naive(value):
        raise InvalidSchedule(NaiveTime.__doc__ or "")
    try:
        moment = value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidSchedule(TimeOutOfRange.__doc__ or "") from error
    if not EARLIEST <= moment < LATEST:
        raise InvalidSchedule(TimeOutOfRange.__doc__ or "")
    return moment


def refuse_empty_span(article: Article) -> None:
    """Raise `InvalidSchedule` when the article would be taken off before it goes live."""
    begin, end = article.goes_live_at, article.unpublish_at
    if begin is not None and end is not None and end <= begin:
        raise InvalidSchedule(_("“%(title)s” would be taken off before it goes live.") % {"title": article.title})
