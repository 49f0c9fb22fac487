"""Cards of the board: an article, an update of one, or a release."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils import formats, timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _, gettext_lazy, ngettext

from articles.desk.calendar.reschedule import Moment
from articles.desk.calendar.subjects import RELEASE
from articles.desk.monitoring.filters import Column
from articles.models import (
    AT_RISK_WITHIN,
    Article,
    Image,
    ReaderState,
    Release,
    ReleaseMember,
    State,
    Update,
    named,
    state_at,
)
from articles.text import happens_twice, local_time, offset_name
from scheduling.services import overdue_before

Status = Article.Status

BADGES: Mapping[Status, tuple[str | Promise, str]] = {
    Status.REJECTED: (Status.REJECTED.label, "danger"),
    Status.SUBMITTED: (gettext_lazy("Automatic review"), "info"),
}
"""Text and colour of the badge of those statuses that the column does not show."""


class BoardCard(ABC):
    """A card. Those with a time that can be moved carry it as `key` and `seen`, as the calendar does."""

    column: Column | None = None
    key: str
    title: str
    address: str
    article: Article | None = None
    at: datetime | None = None  #: when it goes live, or went live
    seen: datetime | None = None  #: the stored time
    changed: datetime
    kind: str | Promise = ""  #: if it is not an article itself
    badge: str | Promise = ""
    badge_colour = ""
    is_overdue = False  #: its time is past, and readers do not have it
    release: Release | None = None  #: the pending release it belongs to, and the release's action for it
    held_as = ""
    awaits = ""  #: the action of a release that gives it a time
    size = ""

    def __init__(self, now: datetime) -> None:
        self.now = now

    @property
    def place(self) -> tuple[float, float]:
        """Sort key within its column: what is overdue is first, longest overdue before the others."""
        changed, at = -self.changed.timestamp(), self.at.timestamp() if self.at else float("inf")
        if self.is_overdue:
            return float("-inf"), at
        if self.column is Column.DRAFTS:
            return 0, changed
        if self.column is Column.REVIEW:
            return at, -changed
        if self.column is Column.SCHEDULED:
            return (1, at) if self.at else (0, changed)
        return 0, -at

    @property
    def mark(self) -> str:
        """The warning on it."""
        if self.is_overdue:
            return _("overdue")
        is_near = self.at is not None and self.at <= self.now + AT_RISK_WITHIN
        return _("at risk") if is_near and self.column in (Column.DRAFTS, Column.REVIEW) else ""

    @property
    def is_counting(self) -> bool:
        """Whether it shows the time that is left."""
        return self.at is not None and self.at > self.now

    @property
    def clock(self) -> str:
        """Its time, in the zone that the board names."""
        return short_time(self.at) if self.at else ""

    @property
    def changed_at(self) -> str:
        """The time of its last change."""
        return short_time(self.changed.replace(second=0))

    @property
    def cover(self) -> Image | None:
        """The first image of its cover."""
        return next(iter(self.article.covers), None) if self.article else None

    @property
    def people(self) -> str:
        """Its author."""
        return named(self.article.author) if self.article and self.article.author else ""

    @property
    def assignment(self) -> str:
        """Its owner and due time, until it is approved."""
        article = self.article
        if article is None or self.column not in (Column.DRAFTS, Column.REVIEW):
            return ""
        owner = _("Owner: %(name)s") % {"name": named(article.owner)} if article.owner else ""
        due = _("due %(time)s") % {"time": short_time(article.due_at)} if article.due_at else ""
        return " · ".join(filter(None, [owner, due]))

    @property
    def is_late(self) -> bool:
        """Whether the owner's time is past."""
        return self.article is not None and self.article.is_late_at(self.now)

    @property
    def reviewer(self) -> str:
        """The user who has claimed it."""
        soft_lock: Any = getattr(self.article, "soft_lock", None)
        is_claimed = self.column is Column.REVIEW and soft_lock is not None and soft_lock.counts_at(self.now)
        return named(soft_lock.user) if is_claimed else ""

    def _belong_to(self, member: ReleaseMember | None) -> None:
        if member is not None:
            self.release, self.held_as = member.release, member.action
            is_scheduled = self.release.status == Release.Status.SCHEDULED and self.held_as == self.awaits
            self.at = self.at or (self.release.publish_at if is_scheduled else None)

    def _show_status(self, status: int) -> None:
        """Unapproved texts are overdue at their time, others if no worker has published them soon after it."""
        self.badge, self.badge_colour = BADGES.get(Status(status), ("", ""))
        latest = self.now if status in Status.unapproved() else overdue_before(self.now)
        self.is_overdue = self.column is not Column.LIVE and self.at is not None and self.at <= latest


class ArticleCard(BoardCard):
    """An article."""

    awaits = ReleaseMember.Action.PUBLISH

    def __init__(self, article: Article, now: datetime, member: ReleaseMember | None = None) -> None:
        super().__init__(now)
        self.article, self.title, self.changed = article, article.title, article.updated_at
        found = state_at(article, now)
        self.key, self.seen, self.at = f"{Moment.PUBLISH}:{article.pk}", article.publish_at, found.since
        self.address = reverse("admin:articles_article_change", args=[article.pk])
        self.column = _column_of(found)
        self._belong_to(member)
        self._show_status(article.status)


class UpdateCard(BoardCard):
    """A text of an update: its draft, or the approved one."""

    awaits = ReleaseMember.Action.UPDATE

    def __init__(self, update: Update, status: int, now: datetime, member: ReleaseMember | None) -> None:
        super().__init__(now)
        self.article, self.changed = update.article, update.updated_at
        self.key, self.seen, self.at = f"{Moment.UPDATE}:{update.article_id}", update.publish_at, update.publish_at
        self.address = reverse("admin:articles_article_change", args=[update.article_id])
        self.kind = _("Update")
        self._belong_to(member)
        self.column = _COLUMNS.get(Status(status), Column.SCHEDULED)
        self._show_status(status)

    @classmethod
    def all_of(cls, update: Update, now: datetime, member: ReleaseMember | None) -> Iterator[BoardCard]:
        """A card for each of its texts."""
        if update.draft is not None:
            card = cls(update, update.status, now, member)
            card.title = update.draft.title
            yield card
        if update.approved is not None:
            card = cls(update, Status.APPROVED, now, member)
            card.title = update.approved.title
            yield card


class ReleaseCard(BoardCard):
    """A scheduled release."""

    column = Column.SCHEDULED

    def __init__(self, release: Release, now: datetime) -> None:
        super().__init__(now)
        self.title, self.changed = release.name, release.updated_at
        self.key, self.seen, self.at = f"{RELEASE}:{release.pk}", release.publish_at, release.publish_at
        self.address = reverse("admin:articles_release_change", args=[release.pk])
        self.kind = _("Release")
        self._show_status(Status.APPROVED)
        number: int = release.number  # type: ignore[attr-defined]
        self.size = ngettext("%d article", "%d articles", number) % number


_COLUMNS = {
    Status.DRAFT: Column.DRAFTS,
    Status.REJECTED: Column.DRAFTS,
    Status.SUBMITTED: Column.REVIEW,
    Status.MANUAL_REVIEW: Column.REVIEW,
}


def _column_of(found: ReaderState) -> Column | None:
    """By the clock, as readers see it; none for what is live no more."""
    if found.state in (State.UNPUBLISHED, State.RETRACTED):
        return None
    return Column.LIVE if found.state is State.LIVE else _COLUMNS.get(found.status, Column.SCHEDULED)


def short_time(moment: datetime) -> str:
    """Hour and minute in the current zone, with the date unless it is today; exact where that matters."""
    local = local_time(moment)
    text = f"{local:%H:%M:%S}" if local.second else f"{local:%H:%M}"
    if happens_twice(local.replace(tzinfo=None), timezone.get_current_timezone()):
        text += f" {offset_name(local)}"
    if local.date() == timezone.localdate():
        return text
    is_this_year = local.year == timezone.localdate().year
    day = formats.date_format(local, _("j M") if is_this_year else _("j M Y"))
    return _("%(day)s, %(time)s") % {"day": day, "time": text}
