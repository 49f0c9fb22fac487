"""Where entries come from. A new kind of entry is one more function in `SOURCES`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.desk.calendar.entries import Entry, Kind, Mark
from articles.desk.calendar.sheet import Sheet
from articles.models import Article, Update
from articles.services import Moment
from articles.workflow import UNAPPROVED, WAITING

Status = Article.Status
TO_COME = UNAPPROVED | WAITING
GRACE = timedelta(seconds=5)
"""How long after its time something is overdue; the engine alarms after the same time."""
_NAMES = ("channel__name", "author__username", "author__first_name", "author__last_name")
COLUMNS = ("title", "status", "publish_at", "embargo_until", "unpublish_at", "published_at", *_NAMES)
FREE = Q(embargo_until__isnull=True) | Q(embargo_until__lte=F("publish_at"))
HELD = Q(embargo_until__gt=F("publish_at"))
"""Its time comes before its embargo ends: it goes live at that end."""


def going_live(sheet: Sheet) -> None:
    """Articles that go live, and those that are to but are not approved."""
    sheet.put(_articles(sheet, TO_COME).filter(FREE), "publish_at", _going_live)


def published(sheet: Sheet) -> None:
    """Articles that have gone live, at their time or at the end of their embargo."""
    rows = _articles(sheet, {Status.PUBLISHED})
    sheet.put(rows.filter(FREE), "publish_at", _published)
    sheet.put(rows.filter(HELD), "embargo_until", _published)


def ends_of_embargoes(sheet: Sheet) -> None:
    """Ends of embargoes, with what goes live then."""
    sheet.put(_articles(sheet, TO_COME), "embargo_until", _end_of_embargo)


def take_offs(sheet: Sheet) -> None:
    """Articles that are taken off at a set time."""
    sheet.put(_articles(sheet, WAITING | {Status.PUBLISHED}), "unpublish_at", _take_off)


def taken_off(sheet: Sheet) -> None:
    """Articles that were."""
    sheet.put(_articles(sheet, {Status.WITHDRAWN}), "unpublish_at", _taken_off)


def updates(sheet: Sheet) -> None:
    """Newer texts that take the place of what readers see."""
    rows = Update.objects.filter(sheet.choice.articles(sheet.by, "article__"))
    related = rows.select_related("article__channel", "article__author")
    columns = [f"article__{name}" for name in COLUMNS]
    sheet.put(related.only("publish_at", "approved", *columns), "publish_at", _update)


SOURCES: tuple[Callable[[Sheet], None], ...] = (
    going_live, published, ends_of_embargoes, take_offs, taken_off, updates,
)  # fmt: skip


def fill(sheet: Sheet) -> None:
    """Put everything on the sheet."""
    for source in SOURCES:
        source(sheet)
    sheet.fold()


def _articles(sheet: Sheet, statuses: Collection[Status]) -> QuerySet[Article]:
    rows = Article.objects.filter(sheet.choice.articles(sheet.by), status__in=statuses)
    return rows.select_related("channel", "author").only(*COLUMNS)


def _going_live(article: Article, sheet: Sheet) -> Entry:
    at = article.publish_at or sheet.now
    seen = article.publish_at if at > sheet.now or not article.is_waiting else None
    marks = _marks(at, sheet, is_approved=article.is_waiting)
    return _entry(article, Kind.PUBLISH, at, Moment.PUBLISH, seen=seen, marks=marks)


def _published(article: Article, sheet: Sheet) -> Entry:
    at = article.goes_live_at or sheet.now
    return _entry(article, Kind.PUBLISHED, at, Moment.PUBLISH, note=_lateness(article, at))


def _end_of_embargo(article: Article, sheet: Sheet) -> Entry:
    at = article.embargo_until or sheet.now
    is_held = article.publish_at is not None and article.publish_at < at
    marks = _marks(at, sheet, is_approved=article.is_waiting) if is_held else ()
    note = _("goes live then") if is_held else ""
    seen = article.embargo_until if at > sheet.now else None
    return _entry(article, Kind.EMBARGO, at, Moment.EMBARGO, seen=seen, marks=marks, note=note)


def _take_off(article: Article, sheet: Sheet) -> Entry:
    at = article.unpublish_at or sheet.now
    marks = _marks(at, sheet, is_approved=True)
    return _entry(article, Kind.TAKE_OFF, at, Moment.TAKE_OFF, seen=article.unpublish_at, marks=marks)


def _taken_off(article: Article, sheet: Sheet) -> Entry:
    return _entry(article, Kind.TAKEN_OFF, article.unpublish_at or sheet.now, Moment.TAKE_OFF)


def _update(update: Update, sheet: Sheet) -> Entry:
    at = update.publish_at or sheet.now
    marks = _marks(at, sheet, is_approved=update.approved_id is not None)
    return _entry(update.article, Kind.UPDATE, at, Moment.UPDATE, seen=update.publish_at, marks=marks)


def _marks(at: datetime, sheet: Sheet, *, is_approved: bool) -> tuple[Mark, ...]:
    at_risk = () if is_approved else (Mark.AT_RISK,)
    overdue = (Mark.OVERDUE,) if at <= sheet.now - GRACE else ()
    return (*at_risk, *overdue)


def _lateness(article: Article, due: datetime) -> str:
    """How late it really went live."""
    if article.published_at is None:
        return ""
    late = max((article.published_at - due).total_seconds(), 0.0)
    if late < 60:
        return _("%(seconds).1f s late") % {"seconds": late}
    return _("%(minutes)d min late") % {"minutes": late // 60}


def _entry(
    article: Article,
    kind: Kind,
    at: datetime,
    moment: Moment,
    *,
    seen: datetime | None = None,
    marks: tuple[Mark, ...] = (),
    note: str = "",
) -> Entry:
    """An entry about an article; it can be moved if the time `seen` is given."""
    author = article.author
    return Entry(
        key=f"{moment}:{article.pk}",
        kind=kind,
        at=at,
        title=article.title,
        address=reverse("admin:articles_article_change", args=[article.pk]),
        channel=str(article.channel or ""),
        author=(author.get_full_name() or author.get_username()) if author else "",
        state=article.get_status_display(),
        note=note,
        seen=seen.isoformat() if seen else "",
        marks=marks,
    )
