"""Sources of calendar entries. A new kind of entry is one more function in `SOURCES`."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime

from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.desk.calendar.collector import Collector
from articles.desk.calendar.entries import Entry, Kind, Mark, label
from articles.desk.calendar.reschedule import Moment
from articles.models import GOES_LIVE_COLUMNS, Article, Release, ReleaseMember, Update, named
from articles.workflow import TO_COME, WAITING

Status = Article.Status
_NAMES = ("channel__name", "author__username", "author__first_name", "author__last_name")
COLUMNS = ("title", "status", *GOES_LIVE_COLUMNS, "unpublish_at", "published_at", "updated_at", *_NAMES)
FREE = Q(embargo_until__isnull=True) | Q(embargo_until__lte=F("publish_at"))
HELD = Q(embargo_until__gt=F("publish_at"))
"""The embargo ends after the publish time: the article goes live at its end."""


def going_live(collector: Collector) -> None:
    """Articles that go live, including those not approved yet."""
    collector.put(_articles(collector, TO_COME).filter(FREE), "publish_at", _going_live)


def published(collector: Collector) -> None:
    """Articles that have gone live."""
    rows = _articles(collector, {Status.PUBLISHED})
    collector.put(rows.filter(FREE), "publish_at", _published)
    collector.put(rows.filter(HELD), "embargo_until", _published)


def ends_of_embargoes(collector: Collector) -> None:
    """Ends of embargoes, and articles that go live then."""
    collector.put(_articles(collector, TO_COME), "embargo_until", _end_of_embargo)


def leaving(collector: Collector) -> None:
    """Articles to be unpublished at a set time."""
    collector.put(_articles(collector, WAITING | {Status.PUBLISHED}), "unpublish_at", _leaving)


def unpublished(collector: Collector) -> None:
    """Articles unpublished at a set time."""
    collector.put(_articles(collector, {Status.UNPUBLISHED}), "unpublish_at", _unpublished)


def updates(collector: Collector) -> None:
    """Pending updates."""
    rows = Update.objects.filter(collector.choice.articles(collector.by, "article__"))
    related = rows.select_related("article__channel", "article__author", "approved", "draft")
    columns = [*(f"article__{name}" for name in COLUMNS), "approved__title", "draft__title"]
    collector.put(related.only("publish_at", "updated_at", *columns), "publish_at", _update)


def releases(collector: Collector) -> None:
    """Releases that are scheduled, published or failed; for users who may view releases."""
    if not collector.by.has_perm("articles.view_release"):  # type: ignore[union-attr]
        return
    members = ReleaseMember.objects.filter(collector.choice.articles(collector.by, "article__"))
    for statuses in (Release.Status.pending(), [Release.Status.PUBLISHED]):  # so that past ones hide no others
        rows = Release.objects.filter(status__in=statuses)
        rows = rows.filter(pk__in=members.values("release")) if collector.choice.filters() else rows
        collector.put(rows, "publish_at", release_entry)


SOURCES: tuple[Callable[[Collector], None], ...] = (
    going_live, published, ends_of_embargoes, leaving, unpublished, updates, releases,
)  # fmt: skip


def _articles(collector: Collector, statuses: Collection[Status]) -> QuerySet[Article]:
    rows = Article.objects.filter(collector.choice.articles(collector.by), status__in=statuses)
    return rows.prefetch_related("channel", "author").only(*COLUMNS)


def _going_live(article: Article, collector: Collector) -> Entry:
    at = article.publish_at or collector.now
    seen = article.publish_at if at > collector.now or not article.is_waiting else None
    marks = _marks(at, collector, is_approved=article.is_waiting)
    return entry_about(collector, article, Kind.PUBLISH, at, Moment.PUBLISH, seen=seen, marks=marks)


def _published(article: Article, collector: Collector) -> Entry:
    at = article.goes_live_at or collector.now
    return entry_about(collector, article, Kind.PUBLISHED, at, Moment.PUBLISH, note=_lateness(article.published_at, at))


def _end_of_embargo(article: Article, collector: Collector) -> Entry:
    at = article.embargo_until or collector.now
    is_held = article.publish_at is not None and article.publish_at < at
    marks = _marks(at, collector, is_approved=article.is_waiting) if is_held else ()
    note = _("will go live") if is_held else ""
    seen = article.embargo_until if at > collector.now else None
    return entry_about(collector, article, Kind.EMBARGO, at, Moment.EMBARGO, seen=seen, marks=marks, note=note)


def _leaving(article: Article, collector: Collector) -> Entry:
    at = article.unpublish_at or collector.now
    marks = _marks(at, collector, is_approved=True)
    return entry_about(
        collector, article, Kind.UNPUBLISHING, at, Moment.UNPUBLISH, seen=article.unpublish_at, marks=marks
    )


def _unpublished(article: Article, collector: Collector) -> Entry:
    return entry_about(collector, article, Kind.UNPUBLISHED, article.unpublish_at or collector.now, Moment.UNPUBLISH)


def _update(update: Update, collector: Collector) -> Entry:
    at, changed = update.publish_at or collector.now, update.updated_at
    marks = _marks(at, collector, is_approved=update.approved_id is not None)
    entry = entry_about(
        collector, update.article, Kind.UPDATE, at, Moment.UPDATE, seen=at, marks=marks, changed=changed
    )
    if update.headline == entry.title:
        return entry
    return replace(entry, title=update.headline, note=_("replaces “%(title)s”") % {"title": entry.title})


def release_entry(release: Release, collector: Collector) -> Entry:
    """An entry about a release, movable while it is scheduled."""
    at, status = release.publish_at or collector.now, release.status
    is_out, is_scheduled = status == Release.Status.PUBLISHED, status == Release.Status.SCHEDULED
    marks = () if is_out else _marks(at, collector, is_approved=is_scheduled)
    return Entry(
        key=f"release:{release.pk}",
        kind=Kind.RELEASED if is_out else Kind.RELEASE,
        at=at,
        title=release.name,
        address=reverse("admin:articles_release_change", args=[release.pk]),
        state=release.get_status_display(),
        note=_lateness(release.published_at, at) if is_out else "",
        seen=at.isoformat() if is_scheduled else "",
        marks=marks,
        release=release.pk,
        changed=release.updated_at,
        is_cancelled=status == Release.Status.CANCELLED,
        language=collector.language,
    )


def _marks(at: datetime, collector: Collector, *, is_approved: bool) -> tuple[Mark, ...]:
    at_risk = () if is_approved else (Mark.AT_RISK,)
    overdue = (Mark.OVERDUE,) if at <= collector.overdue_before else ()
    return (*at_risk, *overdue)


def _lateness(went_out: datetime | None, due: datetime) -> str:
    """How late it went live."""
    if went_out is None:
        return ""
    late = max((went_out - due).total_seconds(), 0.0)
    if late < 0.05:
        return _("on time")
    if late < 60:
        return _("%(seconds).1f s late") % {"seconds": late}
    return _("%(minutes)d min late") % {"minutes": late // 60}


def entry_about(
    collector: Collector,
    article: Article,
    kind: Kind,
    at: datetime,
    moment: Moment,
    *,
    seen: datetime | None = None,
    marks: tuple[Mark, ...] = (),
    note: str = "",
    changed: datetime | None = None,
    is_cancelled: bool = False,
) -> Entry:
    """An entry about an article, movable if `seen` is given."""
    author = article.author
    return Entry(
        key=f"{moment}:{article.pk}",
        kind=kind,
        at=at,
        title=article.title,
        address=collector.address_of(article.pk),
        channel=str(article.channel or ""),
        author=named(author) if author else "",
        state=label(Status(article.status), collector.language),
        note=note,
        seen=seen.isoformat() if seen else "",
        marks=marks,
        article=article.pk,
        changed=changed or max(article.updated_at, article.published_at or article.updated_at),
        is_cancelled=is_cancelled,
        language=collector.language,
    )
