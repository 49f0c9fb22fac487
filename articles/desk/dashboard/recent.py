"""What readers got last, and how punctually.

An article that the clock shows is on time, whenever a worker records it. Updates and the members of releases come with
the commit of a worker, so their delay is the one in the record of its task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from django.db.models import Max
from django.utils.functional import Promise
from django.utils.translation import gettext as _

from articles.audit import Action
from articles.desk.dashboard.risks import form_of
from articles.desk.dashboard.upcoming import UPDATE
from articles.models import GOES_LIVE_COLUMNS, Article, AuditEntry, Release, ReleaseMember
from articles.task_types import RELEASE, UPDATE as UPDATE_TASK
from articles.workflow import Transition
from scheduling.services import executed_records

if TYPE_CHECKING:
    from scheduling.models import TaskInfoLog

MAX_RECENT = 5
_ENTRIES = 500  # of the audit log, in which the last updates are looked for

ON_TIME = timedelta()


@dataclass(frozen=True)
class Published:
    """An article or update that readers got `at`, and its delay; None if it was not measured."""

    at: datetime
    article: Article
    title: str
    late: timedelta | None
    kind: str | Promise = ""  #: empty for an article

    @property
    def address(self) -> str:
        """The URL of the article's form."""
        return form_of(self.article)

    @property
    def punctuality(self) -> str:
        """The delay in words."""
        if self.late is None:
            return _("delay not measured")
        milliseconds = round(self.late / timedelta(milliseconds=1))
        if milliseconds < 1:
            return _("on time")
        if milliseconds < 1000:
            return _("on time (%d ms)") % milliseconds
        if milliseconds < 120_000:
            return _("%d s late") % round(milliseconds / 1000)
        return _("%d min late") % round(milliseconds / 60_000)


def recently_published(now: datetime) -> list[Published]:
    """What readers got last and still see, latest first."""
    found = (*_articles(now), *_updates(now))
    return sorted(found, key=lambda one: one.at, reverse=True)[:MAX_RECENT]


def _articles(now: datetime) -> Iterator[Published]:
    rows = Article.objects.live(now).newest_first().only("title", "status", "published_at", *GOES_LIVE_COLUMNS)
    articles = list(rows[:MAX_RECENT])
    releases = _releases_of(articles)
    records = executed_records(RELEASE, [str(release.pk) for release in releases.values()])
    for article in articles:
        at, release = article.goes_live_at or now, releases.get(article.pk)
        is_by_worker = release is not None and release.publish_at != release.published_at
        late = _measured(records.get(str(release and release.pk)), at) if is_by_worker else ON_TIME
        yield Published(at, article, article.title, late)


def _releases_of(articles: Collection[Article]) -> Mapping[int | None, Release]:
    """The releases that published these articles."""
    action, is_out = ReleaseMember.Action.PUBLISH, Release.Status.PUBLISHED
    members = ReleaseMember.objects.filter(article__in=articles, action=action, release__status=is_out)
    found = {member.article_id: member.release for member in members.select_related("release")}
    return {one.pk: found[one.pk] for one in articles if _has_published(found.get(one.pk), one)}


def _has_published(release: Release | None, article: Article) -> bool:
    return release is not None and release.published_at == article.published_at


def _updates(now: datetime) -> Iterator[Published]:
    last = AuditEntry.objects.aggregate(last=Max("id"))["last"] or 0
    entries = AuditEntry.objects.filter(id__gt=last - _ENTRIES, action__in=(Action.UPDATED, Transition.PUBLISH_UPDATE))
    columns = ("at", "article_id", "article_title", "release_id", "user_name")  # a migration may change others
    latest = list(entries.latest_first().only(*columns)[:MAX_RECENT])
    live = Article.objects.live(now).only("title").in_bulk([entry.article_id for entry in latest])
    by_task = {task_type: executed_records(task_type, keys) for task_type, keys in _keys(latest).items()}
    for entry in latest:
        if article := live.get(entry.article_id):
            task_type, key = _task_of(entry)
            late = ON_TIME if entry.user_name else _measured(by_task[task_type].get(key), entry.at)
            yield Published(entry.at, article, entry.article_title, late, UPDATE)


def _task_of(entry: AuditEntry) -> tuple[str, str]:
    """Type and key of the task that published an update."""
    return (RELEASE, str(entry.release_id)) if entry.release_id else (UPDATE_TASK, str(entry.article_id))


def _keys(entries: Iterable[AuditEntry]) -> Mapping[str, Collection[str]]:
    keys: defaultdict[str, set[str]] = defaultdict(set)
    for task_type, key in map(_task_of, entries):
        keys[task_type].add(key)
    return keys


def _measured(record: TaskInfoLog | None, at: datetime) -> timedelta | None:
    """The delay in the record of what readers got `at`; None if it is missing, or about something before that."""
    return record.lateness if record and record.executed_at and record.executed_at >= at else None
