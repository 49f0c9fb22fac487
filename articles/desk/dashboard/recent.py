"""What readers got last, at its instant by the clock, whenever a worker records it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max
from django.utils.functional import Promise

from articles.audit import Action
from articles.desk.audit.instants import seen_at
from articles.desk.dashboard.risks import form_of
from articles.models import GOES_LIVE_COLUMNS, Article, AuditEntry, ChangeKind
from articles.workflow import Transition

MAX_RECENT = 5
_ENTRIES = 500  # of the audit log, in which the last updates are looked for


@dataclass(frozen=True)
class Published:
    """An article or update that readers got `at`."""

    at: datetime
    article: Article
    title: str
    kind: str | Promise = ""  #: empty for an article

    @property
    def address(self) -> str:
        """The URL of the article's form."""
        return form_of(self.article)


def recently_published(now: datetime) -> list[Published]:
    """What readers got last and still see, latest first."""
    found = (*_articles(now), *_updates(now))
    return sorted(found, key=lambda one: one.at, reverse=True)[:MAX_RECENT]


def _articles(now: datetime) -> Iterator[Published]:
    rows = Article.objects.live(now).newest_first().only("title", "status", "published_at", *GOES_LIVE_COLUMNS)
    for article in rows[:MAX_RECENT]:
        yield Published(article.goes_live_at or now, article, article.title)


def _updates(now: datetime) -> Iterator[Published]:
    last = AuditEntry.objects.aggregate(last=Max("id"))["last"] or 0
    entries = AuditEntry.objects.filter(id__gt=last - _ENTRIES, action__in=(Action.UPDATED, Transition.PUBLISH_UPDATE))
    columns = ("at", "action", "article_id", "article_title", "release_id", "user_name", "old_time", "new_time")
    latest = list(entries.latest_first().only(*columns)[:MAX_RECENT])  # a migration may change others
    live = Article.objects.live(now).only("title").in_bulk([entry.article_id for entry in latest])
    for entry in latest:
        if article := live.get(entry.article_id):
            yield Published(seen_at(entry), article, entry.article_title, ChangeKind.UPDATE.label)
