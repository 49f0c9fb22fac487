"""Giving an approved article its time, moving it and taking it away."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.db.models import F, Value
from django.db.models.expressions import Combinable
from django.utils import timezone
from django.utils.translation import gettext as _

from articles.exceptions import InvalidSchedule, UnderEmbargo
from articles.models import Article
from articles.services.membership import refuse_held
from articles.services.recording import Standing, record_many
from articles.services.revisions import renumber
from articles.services.steps import Person, require, taking
from articles.services.tasks import sync_tasks
from articles.times import spoken_exactly
from articles.workflow import STEPS, WAITING, Step
from scheduling.exceptions import NaiveTime, TimeOutOfRange
from scheduling.services import EARLIEST, LATEST, read_database_clock


def schedule(article: Article, *, publish_at: datetime, by: Person) -> None:
    """Have an approved article go live at `publish_at`; a time that is past means at once.

    Raises `InvalidSchedule` for a time without a zone, one no database stores, or one at or after its end.
    """
    moment = checked_time(publish_at)
    with taking(Step.SCHEDULE, article, by=by) as taken:
        refuse_embargo(article, max(moment, taken.now))
        article.publish_at = moment
        refuse_empty_span(article)


def schedule_many(articles: Iterable[Article], *, publish_at: datetime, by: Person) -> int:
    """Have all of these that are approved go live at `publish_at`, in a few statements; returns how many those are.

    Articles in another status are left as they are. Raises as `schedule` does, or `BelongsToRelease`, and then changes
    none.
    """
    moment = checked_time(publish_at)
    return _retime(Step.SCHEDULE, articles, by, lambda _old: moment, Value(moment))


def move_many(articles: Iterable[Article], *, shift: timedelta, by: Person) -> int:
    """Move the times of all of these that wait for one, later or (with a negative `shift`) earlier.

    In a few statements; returns how many those are. An article without a time, or whose time has come, is left as it
    is. Raises as `schedule` does, and then moves none.
    """

    def moved(old: datetime | None) -> datetime | None:
        try:
            return old and checked_time(old + shift)
        except OverflowError as error:
            raise InvalidSchedule(TimeOutOfRange.message) from error

    return _retime(Step.MOVE, articles, by, moved, F("publish_at") + shift)


def _retime(
    step: Step,
    articles: Iterable[Article],
    by: Person,
    new_time: Callable[[datetime | None], datetime | None],
    expression: Combinable,
) -> int:
    """Give the approved ones among `articles` new times; `expression` is `new_time` in SQL."""
    require(STEPS[step].permission, by)
    with transaction.atomic():
        chosen = Article.objects.filter(pk__in=[article.pk for article in articles], status__in=WAITING)
        now = read_database_clock()
        rows = [row for row in chosen.only("title", *Standing.COLUMNS).locked() if _can_be_moved(step, row, now)]
        refuse_held(step, [row.pk for row in rows])
        before = [Standing.of(row) for row in rows]
        for row in rows:
            row.publish_at = new_time(row.publish_at)
            refuse_embargo(row, max(row.publish_at or now, now))
            refuse_empty_span(row)
        ids = [row.pk for row in rows]
        Article.objects.filter(pk__in=ids).update(publish_at=expression, updated_at=now)
        sync_tasks(ids)
        record_many(step, zip(rows, before, strict=True), by=by)
    return len(ids)


def _can_be_moved(step: Step, article: Article, now: datetime) -> bool:
    """One that readers see already cannot; to move, it must have a time."""
    return not article.is_out_at(now) and (step is Step.SCHEDULE or article.publish_at is not None)


def set_embargo(article: Article, *, until: datetime | None, by: Person) -> None:
    """Nobody sees or publishes the article before `until`; None lifts the embargo.

    A schedule is kept: the article goes live at its time, or at the end of the embargo if that is later.
    """
    moment = until and checked_time(until)
    with taking(Step.SET_EMBARGO, article, by=by):
        article.embargo_until = moment
        refuse_empty_span(article)
        renumber(article)


def cancel_schedule(article: Article, *, by: Person) -> None:
    """Take the time away: the article keeps its text and its approval, and does not go live."""
    with taking(Step.CANCEL_SCHEDULE, article, by=by):
        article.publish_at = None


def checked_time(value: datetime) -> datetime:
    """`value` in UTC. Raises `InvalidSchedule`."""
    if timezone.is_naive(value):
        raise InvalidSchedule(NaiveTime.message)
    try:
        moment = value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidSchedule(TimeOutOfRange.message) from error
    if not EARLIEST <= moment < LATEST:
        raise InvalidSchedule(TimeOutOfRange.message)
    return moment


def refuse_embargo(article: Article, moment: datetime) -> None:
    """Raise `UnderEmbargo` when the embargo ends after `moment`."""
    if article.embargo_until is not None and article.embargo_until > moment:
        raise UnderEmbargo(
            _("“%(title)s” is under embargo until %(time)s; lift the embargo first.")
            % {"title": article.title, "time": spoken_exactly(article.embargo_until)}
        )


def refuse_empty_span(article: Article) -> None:
    """Raise `InvalidSchedule` when the article would be taken off before it goes live."""
    begin, end = article.goes_live_at, article.unpublish_at
    if begin is not None and end is not None and end <= begin:
        raise InvalidSchedule(_("“%(title)s” would be taken off before it goes live.") % {"title": article.title})
