"""What readers can meet around an instant: articles, updates and releases of which the clock or a worker decides.

Each function of `SITUATIONS` stores one as it is at the database's present time, with everything before the instant
`at` done by people and nothing at it done by a worker; `run_worker` does that. So a test builds it a second before or
after its instant, with a worker or without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User

from articles import publishing, releases
from articles.models import Article, Release, ReleaseMember, State, Update
from scheduling.database import read_database_clock
from scheduling.workers.worker import Worker
from tests.articles.factories import APPROVED, EARLY, approve, make_article, make_editor, make_release

Status = Article.Status
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Situation:
    """An article, and what is true of it `before` and `after` the instant `at` by the clock alone.

    `once_run` is what is true after it as soon as a worker has run, if the clock alone does not show it to readers.
    """

    at: datetime
    article: Article
    before: State
    after: State
    once_run: State | None = None
    headline_once_run: str = ""  #: of an update
    update: Update | None = None
    release: Release | None = None

    def expected(self, now: datetime, *, has_run: bool = False) -> State:
        """The state at `now`, whether or not a worker `has_run` since the instant."""
        if now < self.at:
            return self.before
        return self.once_run if has_run and self.once_run is not None else self.after

    def headline(self, now: datetime, *, has_run: bool = False) -> str:
        """The headline that readers get while the article is live."""
        is_replaced = has_run and now >= self.at and self.headline_once_run
        return self.headline_once_run if is_replaced else self.article.title

    def since(self, *, has_run: bool = False) -> datetime | None:
        """From when readers see the article: at the instant, or since before it."""
        stored = Article.objects.get(pk=self.article.pk)
        if self.before is State.LIVE:
            return stored.publish_at
        return stored.published_at if self.once_run is not None and has_run else self.at

    @property
    def is_ready(self) -> bool:
        """Whether everything is approved before the instant."""
        if self.update is not None and self.update.approved_id is None:
            return False
        return self.before not in (State.WAITING, State.OVERDUE)

    def is_missed(self, now: datetime, *, has_run: bool = False) -> bool:
        """Whether readers do not have something whose time has come."""
        if now < self.at or self.expected(now, has_run=has_run) is State.OVERDUE:
            return self.expected(now, has_run=has_run) is State.OVERDUE
        is_unapproved = self.update is not None and self.update.approved_id is None
        return is_unapproved or (self.once_run is not None and not has_run)


def run_worker() -> None:
    """Do what a worker does with everything that is due."""
    Worker().drain()


def article(at: datetime) -> Situation:
    """An approved article goes live at its time."""
    return Situation(at, _approved("Ferry timetable", publish_at=at), State.SCHEDULED, State.LIVE)


def end(at: datetime) -> Situation:
    """An article that is stored as published leaves the site at its end."""
    return Situation(at, _published("Summer sale", at, unpublish_at=at), State.LIVE, State.UNPUBLISHED)


def end_without_record(at: datetime) -> Situation:
    """An article that no worker has stored as published leaves the site at its end."""
    begin = at - HOUR
    return Situation(at, _approved("Flash sale", publish_at=begin, unpublish_at=at), State.LIVE, State.UNPUBLISHED)


def embargo(at: datetime) -> Situation:
    """An approved article goes live at the end of its embargo, which is later than its time."""
    held = _approved("Jobless figures", publish_at=at - HOUR, embargo_until=at)
    return Situation(at, held, State.SCHEDULED, State.LIVE)


def late_approval(at: datetime) -> Situation:
    """An article is approved an hour after its time."""
    found = make_article("Council minutes", status=Status.MANUAL_REVIEW, publish_at=at - HOUR)
    if at <= read_database_clock():
        Article.objects.filter(pk=found.pk).update(status=APPROVED, cleared_at=at)
        found = Article.objects.get(pk=found.pk)
        publishing.sync_tasks([found.pk])
    return Situation(at, found, State.OVERDUE, State.LIVE)


def unapproved(at: datetime) -> Situation:
    """The time of an article passes while it is in review."""
    found = make_article("Mayor resigns", status=Status.MANUAL_REVIEW, publish_at=at)
    return Situation(at, found, State.WAITING, State.OVERDUE)


def update(at: datetime) -> Situation:
    """An approved update of a live article is due; readers get it from a worker."""
    found = _published("Storm warning", at)
    _approve_update(found, "Storm warning lifted")
    publishing.schedule_update(found, publish_at=at, by=_editor())
    return _with_update(Situation(at, found, State.LIVE, State.LIVE, State.LIVE, "Storm warning lifted"))


def unapproved_update(at: datetime) -> Situation:
    """The time of an update passes while it is a draft."""
    found = _published("Match report", at)
    publishing.edit(found, by=_editor(), changes={"title": "Match report, corrected"})
    publishing.schedule_update(found, publish_at=at, by=_editor())
    return _with_update(Situation(at, found, State.LIVE, State.LIVE))


def member(at: datetime) -> Situation:
    """A release is due that publishes the article; readers get it from a worker."""
    found = _approved("Budget passed")
    return _released(Situation(at, found, State.SCHEDULED, State.OVERDUE, State.LIVE), ReleaseMember.Action.PUBLISH)


def updated_member(at: datetime) -> Situation:
    """A release is due that publishes the article's update."""
    found = _published("Budget debated", at)
    _approve_update(found, "Budget debated and passed")
    situation = Situation(at, found, State.LIVE, State.LIVE, State.LIVE, "Budget debated and passed")
    return _with_update(_released(situation, ReleaseMember.Action.UPDATE))


def unpublished_member(at: datetime) -> Situation:
    """A release is due that unpublishes the article."""
    found = _published("Budget expected", at)
    return _released(Situation(at, found, State.LIVE, State.LIVE, State.UNPUBLISHED), ReleaseMember.Action.UNPUBLISH)


SITUATIONS: Mapping[str, Callable[[datetime], Situation]] = {
    build.__name__: build
    for build in (
        article,
        end,
        end_without_record,
        embargo,
        late_approval,
        unapproved,
        update,
        unapproved_update,
        member,
        updated_member,
        unpublished_member,
    )
}
"""All of them, by name."""


def _editor() -> User:
    return User.objects.filter(username="night").first() or make_editor("night")


def _approved(title: str, **times: Any) -> Article:
    return make_article(title, status=APPROVED, cleared_at=EARLY, **times)


def _published(title: str, at: datetime, **times: Any) -> Article:
    begin = at - 2 * HOUR
    return make_article(title, status=Status.PUBLISHED, publish_at=begin, published_at=begin, cleared_at=EARLY, **times)


def _approve_update(found: Article, title: str) -> None:
    publishing.edit(found, by=_editor(), changes={"title": title})
    publishing.submit(found, by=_editor())
    approve(found)
    found.refresh_from_db()


def _released(situation: Situation, action: ReleaseMember.Action) -> Situation:
    release = make_release(by=_editor(), name=f"Release with {situation.article.title}")
    releases.add_member(release, article=situation.article, action=action, by=_editor())
    releases.schedule_release(release, publish_at=situation.at, by=_editor())
    return replace(situation, release=release)


def _with_update(situation: Situation) -> Situation:
    return replace(situation, update=Update.objects.get(article=situation.article))
