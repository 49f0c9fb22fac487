"""Upcoming and recently published items. Each query reads the head of an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Count
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from articles.models import Article, Release, Update

Status = Article.Status

SHOWN = 8
_READ = 4 * SHOWN  # an embargo may put what is read first behind what is read later

UPDATE, LEAVES, RELEASE = gettext_lazy("Update"), gettext_lazy("Unpublish"), gettext_lazy("Release")


@dataclass(frozen=True)
class Upcoming:
    """An event at `at`; without `kind`, the article goes live."""

    at: datetime
    subject: Article | Release
    kind: str | Promise = ""
    headline: str = ""  #: if it is not the subject's own

    @property
    def title(self) -> str:
        return self.headline or str(self.subject)

    @property
    def address(self) -> str:
        """Its admin URL."""
        return reverse(f"admin:articles_{self.subject._meta.model_name}_change", args=[self.subject.pk])

    @property
    def place(self) -> str:
        """The channel of an article, or the size of a release."""
        if isinstance(self.subject, Article):
            return str(self.subject.channel or "")
        number: int = self.subject.number  # type: ignore[attr-defined]
        return ngettext("%d article", "%d articles", number) % number


@dataclass(frozen=True)
class Published:
    """A published article and its delay."""

    article: Article
    late: timedelta

    @property
    def punctuality(self) -> str:
        """The delay in words."""
        milliseconds = round(self.late / timedelta(milliseconds=1))
        if milliseconds < 1:
            return _("on time")
        if milliseconds < 1000:
            return _("on time (%d ms)") % milliseconds
        if milliseconds < 120_000:
            return _("%d s late") % round(milliseconds / 1000)
        return _("%d min late") % round(milliseconds / 60_000)


def up_next(now: datetime) -> list[Upcoming]:
    """The next items, soonest first."""
    return sorted((*_going_live(now), *_updates(now), *_leaving(now), *_releases(now)), key=lambda one: one.at)[:SHOWN]


def recently_published(limit: int = 5) -> list[Published]:
    """The latest items by publish time."""
    out = Article.objects.filter(status=Status.PUBLISHED, published_at__isnull=False)
    return [Published(article, _lateness(article)) for article in out.newest_first().select_related("channel")[:limit]]


def _going_live(now: datetime) -> Iterator[Upcoming]:
    """One query per status, because the index is sorted within a status only."""
    for status in Status.waiting():
        rows = _with_channel(Article.objects.filter(status=status, publish_at__gt=now).order_by("publish_at"))
        yield from (Upcoming(article.goes_live_at or now, article) for article in rows)
    held = Article.objects.filter(status__in=Status.waiting(), publish_at__lte=now, embargo_until__gt=now)
    yield from (Upcoming(article.goes_live_at or now, article) for article in _with_channel(held))


def _updates(now: datetime) -> Iterator[Upcoming]:
    rows = Update.objects.filter(approved__isnull=False, publish_at__gt=now).order_by("publish_at")
    updates = rows.select_related("article__channel", "approved").defer("article__body", "approved__body")[:_READ]
    yield from (Upcoming(update.publish_at or now, update.article, UPDATE, update.headline) for update in updates)


def _leaving(now: datetime) -> Iterator[Upcoming]:
    for status in Status.visible():
        rows = _with_channel(Article.objects.filter(status=status, unpublish_at__gt=now).order_by("unpublish_at"))
        yield from (Upcoming(article.unpublish_at or now, article, LEAVES) for article in rows)


def _releases(now: datetime) -> Iterator[Upcoming]:
    rows = (
        Release.objects.scheduled().filter(publish_at__gt=now).order_by("publish_at").annotate(number=Count("members"))
    )
    yield from (Upcoming(release.publish_at or now, release, RELEASE) for release in rows[:SHOWN])


def _with_channel(articles: Iterable[Article]) -> Iterable[Article]:
    return articles.select_related("channel").defer("body")[:_READ]  # type: ignore[attr-defined,no-any-return]


def _lateness(article: Article) -> timedelta:
    due, out = article.goes_live_at, article.published_at
    return max(out - due, timedelta()) if due and out else timedelta()
