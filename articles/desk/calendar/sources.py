"""Sources of calendar entries. A new kind of entry is one more function in `SOURCES`.

Of what is approved and to come, they have what *What happens next* has, by the same conditions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from django.db.models import F, Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.desk.calendar.collector import Collector
from articles.desk.calendar.entries import CalendarEntry, EntryKind, Mark, label
from articles.desk.calendar.reschedule import Moment
from articles.models import (
    GOES_LIVE_COLUMNS,
    MICROSECOND,
    Article,
    FrontSeries,
    FrontVersion,
    Release,
    ReleaseMember,
    State,
    Update,
    has_readers,
    in_states,
    is_seen_to_begin,
    is_seen_to_end,
    named,
    not_over_at,
    over_at,
    state_at,
    status_at,
)
from articles.workflow import UNAPPROVED

Status = Article.Status
_NAMES = ("channel__name", "author__username", "author__first_name", "author__last_name")
COLUMNS = ("title", "status", *GOES_LIVE_COLUMNS, "unpublish_at", "published_at", "updated_at", *_NAMES)
FREE = Q(embargo_until__isnull=True) | Q(embargo_until__lte=F("publish_at"))
"""No embargo ends after the publish time; otherwise the article goes live at its end."""


def going_live(collector: Collector) -> None:
    """Articles that go live, including those not approved yet."""
    collector.put(_articles(collector, FREE & _to_come(collector)), "goes_live_at", _going_live)


def published(collector: Collector) -> None:
    """Articles that are live."""
    live = in_states([State.LIVE], collector.now)
    collector.put(_articles(collector, live), "goes_live_at", _published)


def ends_of_embargoes(collector: Collector) -> None:
    """Ends of embargoes, and articles that go live then."""
    collector.put(_articles(collector, _to_come(collector)), "embargo_until", _end_of_embargo)


def leaving(collector: Collector) -> None:
    """Articles to be unpublished at a set time."""
    seen = Q(status__in=Status.visible()) & not_over_at(collector.now) & is_seen_to_end()
    collector.put(_articles(collector, seen), "unpublish_at", _leaving)


def unpublished(collector: Collector) -> None:
    """Articles unpublished at a set time."""
    gone = in_states([State.UNPUBLISHED], collector.now) & over_at(collector.now)
    collector.put(_articles(collector, gone), "unpublish_at", _unpublished)


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


def fronts(collector: Collector) -> None:
    """Versions of fronts; none where an author is chosen."""
    if collector.choice.author:
        return
    scheduled = FrontVersion.objects.filter(has_readers(), status=FrontVersion.Status.SCHEDULED)
    rows = scheduled.select_related("front__channel", "author")
    channel = collector.choice.channel
    rows = rows.filter(front__channel=int(channel)) if channel else rows
    collector.put(rows.filter(repeats__isnull=True), "live_from", _front)
    begin, end = collector.period
    found = FrontSeries.objects.all().between(begin - MICROSECOND, end - MICROSECOND)
    versions = rows.in_bulk({one.version for one in found}) if found else {}
    for one in found:
        if one.version in versions:
            collector.add(_front(versions[one.version], collector, at=one.at))


SOURCES: tuple[Callable[[Collector], None], ...] = (
    going_live, published, ends_of_embargoes, leaving, unpublished, updates, releases, fronts,
)  # fmt: skip


def _articles(collector: Collector, condition: Q) -> QuerySet[Article]:
    rows = Article.objects.filter(collector.choice.articles(collector.by) & condition)
    return rows.prefetch_related("channel", "author").only(*COLUMNS)


def _to_come(collector: Collector) -> Q:
    """Not live yet; or not any more, because of an embargo."""
    to_come = Q(goes_live_at__isnull=True) | Q(goes_live_at__gt=collector.now)
    return Q(status__in=UNAPPROVED) | Q(status__in=Status.visible()) & to_come & is_seen_to_begin()


def _going_live(article: Article, collector: Collector) -> CalendarEntry:
    at, seen = article.goes_live_at or collector.now, article.publish_at
    marks = _marks(at, collector, is_approved=article.status in Status.visible())
    return entry_about(collector, article, EntryKind.PUBLISH, at, Moment.PUBLISH, seen=seen, marks=marks)


def _published(article: Article, collector: Collector) -> CalendarEntry:
    return entry_about(collector, article, EntryKind.PUBLISHED, article.goes_live_at or collector.now, Moment.PUBLISH)


def _end_of_embargo(article: Article, collector: Collector) -> CalendarEntry:
    at = article.embargo_until or collector.now
    is_held = article.publish_at is not None and article.publish_at < at
    marks = _marks(at, collector, is_approved=article.status in Status.visible()) if is_held else ()
    note = _("will go live") if is_held else ""
    seen = article.embargo_until if at > collector.now else None
    return entry_about(collector, article, EntryKind.EMBARGO, at, Moment.EMBARGO, seen=seen, marks=marks, note=note)


def _leaving(article: Article, collector: Collector) -> CalendarEntry:
    at, seen = article.unpublish_at or collector.now, article.unpublish_at
    return entry_about(collector, article, EntryKind.UNPUBLISHING, at, Moment.UNPUBLISH, seen=seen)


def _unpublished(article: Article, collector: Collector) -> CalendarEntry:
    return entry_about(
        collector, article, EntryKind.UNPUBLISHED, article.unpublish_at or collector.now, Moment.UNPUBLISH
    )


def _update(update: Update, collector: Collector) -> CalendarEntry:
    at, changed = update.publish_at or collector.now, update.updated_at
    marks = _marks(at, collector, is_approved=update.approved_id is not None)
    entry = entry_about(
        collector, update.article, EntryKind.UPDATE, at, Moment.UPDATE, seen=at, marks=marks, changed=changed
    )
    if update.headline == entry.title:
        return entry
    return replace(entry, title=update.headline, note=_("replaces “%(title)s”") % {"title": entry.title})


def release_entry(release: Release, collector: Collector) -> CalendarEntry:
    """An entry about a release, movable while it is scheduled."""
    at, status = release.publish_at or collector.now, release.status
    is_out, is_scheduled = status == Release.Status.PUBLISHED, status == Release.Status.SCHEDULED
    marks = () if is_out else _marks(at, collector, is_approved=is_scheduled)
    return CalendarEntry(
        key=f"release:{release.pk}",
        kind=EntryKind.RELEASED if is_out else EntryKind.RELEASE,
        at=at,
        title=release.name,
        address=reverse("admin:articles_release_change", args=[release.pk]),
        state=release.get_status_display(),
        state_name=release.status,
        note=_lateness(release.published_at, at) if is_out else "",
        seen=at.isoformat() if is_scheduled else "",
        marks=marks,
        release=release.pk,
        changed=release.updated_at,
        is_cancelled=status == Release.Status.CANCELLED,
        language=collector.language,
    )


def _front(version: FrontVersion, collector: Collector, at: datetime | None = None) -> CalendarEntry:
    """A version of a front, which no worker needs to put live; its own page gives it another instant."""
    occurrence = f"{at:%Y%m%dT%H%M%S}:" if at else ""
    at, front = at or version.live_from or collector.now, version.front
    is_over = at <= collector.now
    address = reverse("admin:articles_front_change", args=[front.pk])
    return CalendarEntry(
        key=f"front:{occurrence}{version.pk}",
        kind=EntryKind.FRONTED if is_over else EntryKind.FRONT,
        at=at,
        title=str(front),
        address=f"{address}?version={version.number}",
        channel=str(front.channel or ""),
        author=named(version.author) if version.author else "",
        state=_("version %(number)d") % {"number": version.number},
        state_name="live" if is_over else "scheduled",
        changed=version.updated_at,
        language=collector.language,
    )


def _marks(at: datetime, collector: Collector, *, is_approved: bool) -> tuple[Mark, ...]:
    """A worker needs a moment for what is approved; what is not approved is overdue at its time."""
    if is_approved:
        return (Mark.OVERDUE,) if at <= collector.overdue_before else ()
    return (Mark.AT_RISK, Mark.OVERDUE) if at <= collector.now else (Mark.AT_RISK,)


def _lateness(went_out: datetime | None, due: datetime) -> str:
    """How late a release went live."""
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
    kind: EntryKind,
    at: datetime,
    moment: Moment,
    *,
    seen: datetime | None = None,
    marks: tuple[Mark, ...] = (),
    note: str = "",
    changed: datetime | None = None,
    is_cancelled: bool = False,
) -> CalendarEntry:
    """An entry about an article, movable if `seen` is given."""
    author, (state, state_label) = article.author, _state_of(article, collector)
    return CalendarEntry(
        key=f"{moment}:{article.pk}",
        kind=kind,
        at=at,
        title=article.title,
        address=collector.address_of(article.pk),
        channel=str(article.channel or ""),
        author=named(author) if author else "",
        state=state_label,
        state_name=state.value,
        note=note,
        seen=seen.isoformat() if seen else "",
        marks=marks,
        article=article.pk,
        changed=changed or max(article.updated_at, article.seen_since(collector.now) or article.updated_at),
        is_cancelled=is_cancelled,
        language=collector.language,
    )


def _state_of(article: Article, collector: Collector) -> tuple[State, str]:
    """Its state, and what the newsroom calls that; not asking for its release, which has an entry of its own."""
    if article.is_waiting and article.publish_at is None:
        return State.APPROVED, label(status_at(article, collector.now), collector.language)
    found = state_at(article, collector.now)
    return found.state, label(State.SCHEDULED if found.state is State.SCHEDULED else found.status, collector.language)
