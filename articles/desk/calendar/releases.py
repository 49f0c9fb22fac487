"""Releases on the calendar: one entry for all that goes out together."""

from __future__ import annotations

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.translation import ngettext

from articles.desk.calendar.collector import Collector
from articles.desk.calendar.entries import Entry, Kind, Mark
from articles.models import Release, ReleaseMember
from articles.models.people import named
from articles.services.rights import allows
from articles.workflow import WAITING

Action = ReleaseMember.Action

_UNREADY = Q(members__article__isnull=True) | Q(members__action=Action.PUBLISH) & ~Q(
    members__article__status__in=WAITING
)
_UNREADY_TEXT = Q(members__action=Action.UPDATE, members__article__update__approved__isnull=True)


def releases(collector: Collector) -> None:
    """Releases that are to go out, and those that could not, for who may see releases."""
    if not allows("articles.view_release", collector.by):
        return
    rows = Release.objects.filter(status__in=(Release.Status.SCHEDULED, Release.Status.FAILED))
    if wanted := collector.choice.articles(collector.by, "article__"):
        rows = rows.filter(pk__in=ReleaseMember.objects.filter(wanted).values("release"))
    counted = rows.annotate(number=Count("members"), unready=Count("members", filter=_UNREADY | _UNREADY_TEXT))
    collector.put(counted.select_related("made_by"), "publish_at", _release)


def _release(release: Release, collector: Collector) -> Entry:
    at, number = release.publish_at or collector.now, release.number  # type: ignore[attr-defined]
    at_risk = (Mark.AT_RISK,) if release.unready else ()  # type: ignore[attr-defined]
    overdue = (Mark.OVERDUE,) if at <= collector.now else ()
    return Entry(
        key=f"release:{release.pk}",
        kind=Kind.RELEASE,
        at=at,
        title=release.name,
        address=reverse("admin:articles_release_change", args=[release.pk]),
        author=named(release.made_by),
        state=release.get_status_display(),
        note=ngettext("%d article", "%d articles", number) % number,
        marks=(*at_risk, *overdue),
        changed=release.updated_at,
    )
