"""Upcoming items. Each query reads the head of an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy, ngettext

from articles.models import Article, Release, Update, not_over_at
from scheduling.services import overdue_before

Status = Article.Status

MAX_UPCOMING = 8

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


def up_next(now: datetime) -> list[Upcoming]:
    """The next items, soonest first."""
    return sorted((*_going_live(now), *_updates(now), *_leaving(now), *_releases(now)), key=lambda one: one.at)[
        :MAX_UPCOMING
    ]


def _going_live(now: datetime) -> Iterator[Upcoming]:
    """One query per status, because the index is sorted within a status only."""
    for status in Status.visible():
        coming = Article.objects.filter(not_over_at(now), status=status, goes_live_at__gt=now).order_by("goes_live_at")
        yield from (Upcoming(article.goes_live_at or now, article) for article in _with_channel(coming))


def _updates(now: datetime) -> Iterator[Upcoming]:
    rows = Update.objects.filter(approved__isnull=False, publish_at__gt=now).order_by("publish_at")
    updates = rows.select_related("article__channel", "approved").defer("article__body", "approved__body")
    for update in updates[:MAX_UPCOMING]:
        yield Upcoming(update.publish_at or now, update.article, UPDATE, update.headline)


def _leaving(now: datetime) -> Iterator[Upcoming]:
    for status in Status.visible():
        rows = _with_channel(Article.objects.filter(status=status, unpublish_at__gt=now).order_by("unpublish_at"))
        yield from (Upcoming(article.unpublish_at or now, article, LEAVES) for article in rows)


def _releases(now: datetime) -> Iterator[Upcoming]:
    coming = Release.objects.scheduled().filter(publish_at__gt=overdue_before(now)).order_by("publish_at")
    rows = coming.annotate(number=Count("members"))[:MAX_UPCOMING]
    yield from (Upcoming(release.publish_at or now, release, RELEASE) for release in rows)


def _with_channel(articles: Iterable[Article]) -> Iterable[Article]:
    return articles.select_related("channel").defer("body")[:MAX_UPCOMING]  # type: ignore[attr-defined,no-any-return]
