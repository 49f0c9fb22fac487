"""Scheduling, rescheduling and unscheduling articles, and embargoes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Value
from django.db.models.expressions import Combinable
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy

from articles.audit import record_times
from articles.exceptions import InvalidSchedule, NotRescheduled, TimePast, UnderEmbargo
from articles.models import GOES_LIVE_COLUMNS, Article
from articles.publishing.by_clock import end_before_next_change
from articles.publishing.dating import date_many_on_commit
from articles.publishing.holds import refuse_held
from articles.publishing.reconcile import sync_tasks_at
from articles.publishing.revisions import renumber
from articles.publishing.store import checked_time
from articles.publishing.transitions import Actor, performs, require, transition
from articles.text import format_time_exactly
from articles.workflow import TRANSITIONS, WAITING, Transition
from scheduling.database import among, lock_by_ids, read_database_clock, retried
from scheduling.exceptions import TimeOutOfRange

GRACE = timedelta(minutes=1)
"""A time that is past by no more than this was "now" when it was chosen; an older one counts as a mistake."""

_READ = ("title", "status", *GOES_LIVE_COLUMNS, "unpublish_at")

PAST: Mapping[str, str | Promise] = {
    "publish_at": gettext_lazy("This time is past; choose a later one, or publish now."),
    "unpublish_at": gettext_lazy("This time is past; to remove the article from the site now, unpublish it."),
    "embargo_until": gettext_lazy("This time is past; to end the embargo now, lift it."),
    "due_at": gettext_lazy("This time is past; choose a later one for the owner."),
}
"""The error for each time of an article that is past."""


@performs(Transition.SCHEDULE)
@retried
def schedule(article: Article, *, publish_at: datetime, by: Actor, at_once: bool = True) -> None:
    """Have an approved article go live at `publish_at`.

    A past time means at once, see `refuse_past`. Raises `InvalidSchedule` for a time without a zone, one that no
    database stores, or one at or after the time to be unpublished.
    """
    moment = checked_time(publish_at)
    with transition(Transition.SCHEDULE, article, by=by) as context:
        refuse_past(moment, context.now, by=by, at_once=at_once)
        refuse_embargo(article, max(moment, context.now))
        article.publish_at = moment
        refuse_empty_span(article, context.now)


def schedule_many(articles: Iterable[Article], *, publish_at: datetime, by: Actor, at_once: bool = True) -> int:
    """Have all of these that are approved go live at `publish_at`, in a few statements; returns their number.

    Articles in another status are not changed. Raises as `schedule` does, or `BelongsToRelease`, and then changes
    none.
    """
    moment = checked_time(publish_at)
    refuse_past(moment, read_database_clock(), by=by, at_once=at_once)
    return _retime(Transition.SCHEDULE, {article.pk for article in articles}, by, lambda _old: moment, Value(moment))


def reschedule_many(articles: Iterable[Article], *, shift: timedelta, by: Actor, at_once: bool = False) -> int:
    """Move the times of all of these, later or (with a negative `shift`) earlier; returns their number.

    All or none, in a few statements. Raises `NotRescheduled`, naming each that does not exist, has no time, or would go
    live at once, unless that is allowed by `at_once` and `by` may publish. Raises as `schedule` does, too.
    """

    def moved(old: datetime | None) -> datetime | None:
        try:
            return old and checked_time(old + shift)
        except OverflowError as error:
            raise InvalidSchedule(TimeOutOfRange.message) from error

    if at_once:
        require(TRANSITIONS[Transition.PUBLISH_NOW].permission, by)
    ids = {article.pk for article in articles}
    return _retime(Transition.RESCHEDULE, ids, by, moved, F("publish_at") + shift, at_once=at_once)


@performs(Transition.RESCHEDULE)
def reschedule(article: Article, *, minutes: int, by: Actor) -> None:
    """Move the time of one article, as `reschedule_many` does."""
    reschedule_many([article], shift=timedelta(minutes=minutes), by=by)


@retried
def _retime(
    transition: Transition,
    article_ids: Collection[int],
    by: Actor,
    new_time: Callable[[datetime | None], datetime | None],
    expression: Combinable,
    *,
    at_once: bool = True,
) -> int:
    """Set new times for the waiting ones of these articles, or for all or none; `expression` is `new_time` in SQL."""
    require(TRANSITIONS[transition].permission, by)
    # Only the columns that decide: the bodies of a thousand articles would take longer than all else.
    found = list(lock_by_ids(Article, article_ids).only(*_READ))
    now = read_database_clock()
    rows = [row for row in found if _not_waiting_reason(row, now) is None]
    if transition is Transition.RESCHEDULE:
        rows = found
        # All or none: half of a moved programme is worse than none, and its user could not see which half.
        _refuse_unmovable(article_ids, found, now)
    refuse_held(transition, [row.pk for row in rows])
    for row in rows:
        end_before_next_change(row, now)
        row.publish_at = new_time(row.publish_at)
    if not at_once:
        _refuse_live(rows, now)
    for row in rows:
        refuse_embargo(row, max(row.publish_at or now, now))
        refuse_empty_span(row, now)
    ids = [row.pk for row in rows]
    if not ids:
        return 0
    record_times(transition, ids, new_time=expression, by=by)
    changed: dict[str, Any] = {"publish_at": expression, "updated_at": now, "cleared_at": now}
    # The time of readers' last change stays, unless one of them goes live at once by its new time.
    if not _is_any_live(rows, now):
        changed["text_changed_at"] = F("text_changed_at")  # readers see no change
    Article.objects.filter(pk__in=among(ids)).update(**changed)
    date_many_on_commit({row.pk: max(row.goes_live_at or now, now) for row in rows}, now)
    # From the rows in memory: with a thousand of them, reading them again takes longer than writing the tasks.
    sync_tasks_at(rows, now=now)
    return len(ids)


def _is_any_live(articles: Iterable[Article], now: datetime) -> bool:
    moments = (article.goes_live_at for article in articles)
    return any(moment is not None and moment <= now for moment in moments)


def _not_waiting_reason(article: Article, now: datetime) -> str | None:
    """Why the time of this article cannot be changed any more, or not yet; None if it can."""
    if article.is_out_at(now):
        return _("“%(title)s” is live already.") % {"title": article.title}
    status = Article.Status.UNPUBLISHED if article.is_over_at(now) else Article.Status(article.status)
    if status not in WAITING:
        words = {"title": article.title, "status": status.label}
        return _("“%(title)s” is “%(status)s” and cannot have a time.") % words
    return None


def _refuse_unmovable(wanted: Collection[int], found: Iterable[Article], now: datetime) -> None:
    """Raise `NotRescheduled` unless all `wanted` were found, wait, and have a time that can be moved."""
    problems = dict.fromkeys(sorted(wanted), _("There is no such article."))
    for article in found:
        problem = _not_waiting_reason(article, now)
        if problem is None and article.publish_at is None:
            problem = _("“%(title)s” has no time to reschedule.") % {"title": article.title}
        problems[article.pk] = problem or ""
    if problems := {pk: problem for pk, problem in problems.items() if problem}:
        raise NotRescheduled(problems)


def _refuse_live(articles: Iterable[Article], now: datetime) -> None:
    """Raise `NotRescheduled` for those that their new times would publish at once."""
    sentence = _("“%(title)s” would go live at once: %(time)s is past.")
    times = ((article, article.goes_live_at) for article in articles)
    late = {
        article.pk: sentence % {"title": article.title, "time": format_time_exactly(moment)}
        for article, moment in times
        if moment is not None and moment <= now
    }
    if late:
        raise NotRescheduled(late, code=TimePast.code)


@performs(Transition.SET_EMBARGO)
@retried
def set_embargo(article: Article, *, until: datetime | None, by: Actor) -> None:
    """Keep an article from being seen or published before `until`; null lifts the embargo.

    A schedule stays: the article goes live at its time, or at the end of the embargo if that is later.
    """
    moment = until and checked_time(until)
    with transition(Transition.SET_EMBARGO, article, by=by) as context:
        refuse_past_times({"embargo_until": moment}, context.now)
        article.embargo_until = moment
        refuse_empty_span(article)
        renumber(article)


@performs(Transition.UNSCHEDULE)
@retried
def unschedule(article: Article, *, by: Actor) -> None:
    """Remove the time to go live; the article keeps its text and its approval."""
    with transition(Transition.UNSCHEDULE, article, by=by):
        article.publish_at = None


def refuse_past(moment: datetime, now: datetime, *, by: Actor, at_once: bool = False) -> None:
    """Raise `TimePast` for a time that is past, and not just by `GRACE`, unless it may go live `at_once`.

    That publishes, and needs the permission to. Raises `NotAllowed`.
    """
    if moment >= now - GRACE:
        return
    if not at_once:
        raise TimePast(PAST["publish_at"])
    require(TRANSITIONS[Transition.PUBLISH_NOW].permission, by)


def refuse_past_times(times: Mapping[str, datetime | None], now: datetime) -> None:
    """Raise `TimePast` if one of these new times of an article is past, and not just by `GRACE`."""
    for name, moment in times.items():
        if moment is not None and moment < now - GRACE:
            raise TimePast(PAST[name])


def refuse_embargo(article: Article, moment: datetime) -> None:
    """Raise `UnderEmbargo` when the embargo ends after `moment`."""
    if article.embargo_until is not None and article.embargo_until > moment:
        raise UnderEmbargo(
            _("“%(title)s” is under embargo until %(time)s; lift the embargo first.")
            % {"title": article.title, "time": format_time_exactly(article.embargo_until)}
        )


def refuse_empty_span(article: Article, now: datetime | None = None) -> None:
    """Raise `InvalidSchedule` when the article would be unpublished before it goes live, which is not before `now`."""
    begin, end = article.goes_live_at, article.unpublish_at
    if begin is not None and now is not None:
        begin = max(begin, now)
    if begin is not None and end is not None and end <= begin:
        raise InvalidSchedule(_("“%(title)s” would be unpublished before it goes live.") % {"title": article.title})
