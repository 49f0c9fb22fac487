"""What happens next: everything the clock will change for readers, hour by hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.timezone import is_naive
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from articles.limits import TIME_LENGTH
from articles.models import Alert, ChangeKind, ComingChange, FrontVersion, Release, coming_changes, number_at
from articles.permissions import PUBLISH, allows, reads_articles
from articles.publishing import may_share
from articles.text import local_time, wall_clock, zone_label
from scheduling.database import NoTimeZone, OutOfRange, read_database_clock, storable

MAX_UPCOMING = 8
"""Changes on the dashboard."""

PER_PAGE = 200


@dataclass(frozen=True)
class Upcoming:
    """A change as users see it."""

    change: ComingChange
    opens_alerts: bool = True  #: whether the user may see the page of an alert; otherwise its article's is linked

    @property
    def at(self) -> datetime:
        return self.change.at

    @property
    def clock(self) -> str:
        """The time of day."""
        return wall_clock(local_time(self.at))

    @property
    def subject(self) -> Any:
        """The article, or the release, front or link without one."""
        return self.change.article or self.change.subject

    @property
    def kind(self) -> str:
        """What happens."""
        return _("Embargo ends") if self.change.ends_embargo else str(self.change.kind.label)

    @property
    def title(self) -> str:
        subject = self.change.subject
        if self._version is not None:
            card = "" if isinstance(subject, FrontVersion) else f"{subject} · "
            return f"{card}{self._version.front}"
        return getattr(subject, "headline", "") or str(subject)

    @property
    def address(self) -> str:
        """Its page in the admin."""
        if (version := self._version) is not None:
            return f"{reverse('admin:articles_front_change', args=[version.front_id])}?version={version.number}"
        is_alert = self.opens_alerts and isinstance(self.change.subject, Alert)
        subject = self.change.subject if is_alert else self.subject
        return reverse(f"admin:articles_{subject._meta.model_name}_change", args=[subject.pk])

    @property
    def place(self) -> str:
        """The channel of an article, or the size of a release."""
        if isinstance(self.change.subject, Release):
            number: int = self.change.subject.number  # type: ignore[attr-defined]
            return ngettext("%d article", "%d articles", number) % number
        article = self.change.article
        return str(article.channel or "") if article and self._version is None else ""

    @property
    def preview(self) -> str:
        """The address of the site at this instant."""
        return f"{reverse('home')}?{urlencode({'at': self.at.isoformat()})}"

    @property
    def _version(self) -> FrontVersion | None:
        subject = self.change.subject
        if self.change.kind in (ChangeKind.CARD_SHOWN, ChangeKind.CARD_HIDDEN):
            version: FrontVersion = subject.block.version
            return version
        return subject if isinstance(subject, FrontVersion) else None


def upcoming(user: Any, after: datetime, *, limit: int) -> list[Upcoming]:
    """The first changes after `after` that the user may know of, soonest first."""
    return _known_to(user, coming_changes(after, limit=limit))


def _known_to(user: Any, changes: list[ComingChange]) -> list[Upcoming]:
    sees_releases = user.has_perm("articles.view_release")
    shown = (change for change in changes if sees_releases or change.kind is not ChangeKind.RELEASE)
    return [Upcoming(change, opens_alerts=allows(PUBLISH, user)) for change in shown]


@never_cache
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """The page: what happens after now, or after another instant."""
    if not reads_articles(request.user):
        raise PermissionDenied
    now = read_database_clock()
    after = max(_instant(request.GET.get("after", "")) or now, now)
    changes = coming_changes(after, limit=PER_PAGE)
    last = changes[-1].at if len(changes) == PER_PAGE else None
    context = {
        **admin.site.each_context(request),
        "title": _("What happens next"),
        "zone": zone_label(now),
        "hours": list(_hours(_known_to(request.user, changes))),
        "more": number_at(last) - sum(change.at == last for change in changes) if last else 0,
        "later": f"?{urlencode({'after': last.isoformat()})}" if last else "",
        "is_first": after == now,
        "may_share": may_share(request.user),
    }
    return TemplateResponse(request, "articles/desk/upcoming.html", context)


def _hours(rows: list[Upcoming]) -> Iterator[tuple[datetime, list[Upcoming]]]:
    """The rows of each hour with its begin, in the user's time zone."""
    for hour, found in groupby(rows, lambda row: local_time(row.at).replace(minute=0, second=0, microsecond=0)):
        yield hour, list(found)


def _instant(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.replace(" ", "+") if len(text) <= TIME_LENGTH else "")
        return None if is_naive(moment) else storable(moment)
    except (NoTimeZone, OutOfRange, OverflowError, ValueError):
        return None
