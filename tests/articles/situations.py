"""What readers can meet around an instant: articles, updates and releases of which the clock decides.

Each function of `SITUATIONS` stores one as it is at the database's present time, with everything before the instant
`at` done by people and nothing at it done by a worker; `run_worker` does that. So a test builds it a second before or
after its instant, with a worker or without.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User

from articles import publishing, releases
from articles.models import Article, Release, ReleaseMember, State, Update
from scheduling.database import read_database_clock
from scheduling.workers.worker import Worker
from tests.articles.factories import APPROVED, EARLY, approve, make_article, make_editor, make_release

Status = Article.Status
HOUR = timedelta(hours=1)


with_and_without_worker = pytest.mark.parametrize(
    "has_run", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["no worker", "worker"]
)
"""With one, the rows say what the clock alone says without; `test_walk_by_clock.py` tries both in short."""


@dataclass(frozen=True)
class Situation:
    """An article, and what is true of it `before` and `after` the instant `at` by the clock alone."""

    at: datetime
    article: Article
    before: State
    after: State
    headline_after: str = ""  #: of an update
    update: Update | None = None
    release: Release | None = None

    def expected(self, now: datetime) -> State:
        """The state at `now`, whether or not a worker has run since the instant."""
        return self.before if now < self.at else self.after

    def headline(self, now: datetime) -> str:
        """The headline that readers get while the article is live."""
        return self.headline_after if now >= self.at and self.headline_after else self.article.title

    def since(self) -> datetime | None:
        """From when readers see the article: at the instant, or since before it."""
        stored = Article.objects.get(pk=self.article.pk)
        return stored.publish_at if self.before is State.LIVE else self.at

    @property
    def is_ready(self) -> bool:
        """Whether everything is approved before the instant."""
        if self.update is not None and self.update.approved_id is None:
            return False
        return self.before not in (State.WAITING, State.OVERDUE)

    def is_missed(self, now: datetime) -> bool:
        """Whether readers do not have something whose time has come."""
        is_unapproved = self.update is not None and self.update.approved_id is None
        return self.expected(now) is State.OVERDUE or (is_unapproved and now >= self.at)


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
    """An approved update of a live article is due."""
    found = _published("Storm warning", at)
    _approve_update(found, "Storm warning lifted")
    publishing.schedule_update(found, publish_at=at, by=_editor())
    return _with_update(Situation(at, found, State.LIVE, State.LIVE, "Storm warning lifted"))


def unapproved_update(at: datetime) -> Situation:
    """The time of an update passes while it is a draft."""
    found = _published("Match report", at)
    publishing.edit(found, by=_editor(), changes={"title": "Match report, corrected"})
    publishing.schedule_update(found, publish_at=at, by=_editor())
    return _with_update(Situation(at, found, State.LIVE, State.LIVE))


def member(at: datetime) -> Situation:
    """A release is due that publishes the article."""
    found = _approved("Budget passed")
    return _released(Situation(at, found, State.SCHEDULED, State.LIVE), ReleaseMember.Action.PUBLISH)


def updated_member(at: datetime) -> Situation:
    """A release is due that publishes the article's update."""
    found = _published("Budget debated", at)
    _approve_update(found, "Budget debated and passed")
    situation = Situation(at, found, State.LIVE, State.LIVE, "Budget debated and passed")
    return _with_update(_released(situation, ReleaseMember.Action.UPDATE))


def unpublished_member(at: datetime) -> Situation:
    """A release is due that unpublishes the article."""
    found = _published("Budget expected", at)
    return _released(Situation(at, found, State.LIVE, State.UNPUBLISHED), ReleaseMember.Action.UNPUBLISH)


def failing_release(at: datetime) -> Release:
    """A release that readers do not get, because one of its articles is a draft; no worker has stored that yet."""
    release = make_release(make_article("Budget draft"), by=_editor(), name="Unready release")
    releases.schedule_release(release, publish_at=at + HOUR, by=_editor())
    Release.objects.filter(pk=release.pk).update(publish_at=at, updated_at=at - HOUR)
    releases.sync_release_tasks([release.pk])
    release.refresh_from_db()
    return release


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
    Release.objects.filter(pk=release.pk).update(publish_at=situation.at, updated_at=situation.at - HOUR)
    releases.sync_release_tasks([release.pk])
    release.refresh_from_db()
    return replace(situation, release=release)


def _with_update(situation: Situation) -> Situation:
    Update.objects.filter(article=situation.article).update(updated_at=situation.at - HOUR)
    return replace(situation, update=Update.objects.get(article=situation.article))
