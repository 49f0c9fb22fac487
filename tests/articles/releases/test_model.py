"""Releases against a model: whatever users do from any source, only the release's commit shows its members."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from articles import publishing, releases
from articles.exceptions import ArticleError
from articles.models import Article, Release, ReleaseMember, Update
from articles.publishing.revisions import for_review
from articles.task_types import RELEASE
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo
from scheduling.services import refresh, run_due
from tests.articles.factories import APPROVED, approve, make_article, make_editor
from tests.drawn import INPUTS
from tests.scheduling.conftest import (
    Travel,
    travel as travel,  # a fixture
)

Action = ReleaseMember.Action

articles = st.sampled_from(["a", "b", "c"])
release_keys = st.sampled_from(["one", "two"])
seconds = st.integers(min_value=-5, max_value=300)
OF_ARTICLES = [
    "submit", "approve", "publish_now", "unpublish", "republish", "unschedule", "publish_update", "unschedule_update",
    "discard_update", "edit", "retract", "undo_retraction",
]  # fmt: skip
OF_RELEASES = ["cancel_release", "reopen_release", "publish_release_now", "roll_back_release"]
transitions = st.one_of(
    st.tuples(st.sampled_from(["submit", "approve", "edit", "publish_now"]), articles),
    st.tuples(st.sampled_from(OF_ARTICLES), articles),
    st.tuples(st.sampled_from(["schedule", "schedule_update"]), articles, seconds),
    st.tuples(st.just("join"), articles, release_keys, st.sampled_from(["", *Action])),
    st.tuples(st.just("join"), articles, release_keys, st.just("")),
    st.tuples(st.just("join_with_a_time"), articles, release_keys, seconds),
    st.tuples(st.just("leave"), articles),
    st.tuples(st.sampled_from(OF_RELEASES), release_keys),
    st.tuples(st.just("schedule_release"), release_keys, seconds),
    st.tuples(st.just("work")),
    st.tuples(st.just("wait"), st.integers(min_value=0, max_value=120)),
)


class Newsroom:
    """Three articles, two releases, and what readers saw of each member when it was added."""

    def __init__(self, travel: Travel, editor: User) -> None:
        self.travel, self.editor, self.edits = travel, editor, 0
        self.reviewer = make_editor("bob")
        self.articles = {key: make_article(key, status=APPROVED) for key in ("a", "b", "c")}
        self.releases = {name: releases.create_release(name=name, by=editor) for name in ("one", "two")}
        self.seen: dict[int, str | None] = {}

    def take(self, transition: tuple[Any, ...]) -> None:
        """Perform a transition; the invariants check that a refused one changes nothing."""
        name, *arguments = transition
        before = self.live()
        try:
            getattr(self, name, self.service(name))(*arguments)
        except ArticleError:
            assert self.live() == before

    def service(self, name: str) -> Callable[..., Any]:
        def call(key: str, distance: int | None = None) -> None:
            values: dict[str, Any] = {} if distance is None else {"publish_at": self.later(distance)}
            if name == "retract":
                values["notice"] = "It was invented."
            subject = self.releases[key] if key in self.releases else self.articles[key]
            if name == "approve":
                approve(self.articles[key])
            else:
                package = releases if key in self.releases else publishing
                getattr(package, name)(subject, by=self.editor, **values)

        return call

    def approve(self, key: str) -> None:
        article = Article.objects.get(pk=self.articles[key].pk)
        publishing.approve(article, by=self.reviewer, revision=for_review(article))

    def edit(self, key: str) -> None:
        self.edits += 1
        publishing.edit(self.articles[key], by=self.editor, changes={"title": f"{key} {self.edits}"})

    def join(self, key: str, release: str, action: str) -> None:
        releases.add_member(self.releases[release], article=self.articles[key], action=action, by=self.editor)

    def join_with_a_time(self, key: str, release: str, distance: int) -> None:
        publishing.schedule(self.articles[key], publish_at=self.later(abs(distance) + 1), by=self.editor)
        self.join(key, release, "")

    def leave(self, key: str) -> None:
        member = ReleaseMember.objects.filter(article=self.articles[key], holds=True).first()
        if member is not None:
            releases.remove_member(member.release, member=member, by=self.editor)

    def work(self) -> None:
        refresh()
        run_due(100)

    def wait(self, distance: int) -> None:
        self.travel(distance + 0.01)

    def later(self, distance: int) -> Any:
        return read_database_clock() + timedelta(seconds=distance)

    def live(self) -> dict[int, str]:
        return dict(Article.objects.live(read_database_clock()).values_list("pk", "title"))

    def check(self) -> None:
        live = self.live()
        self.check_members(live)
        for release in Release.objects.filter(status=Release.Status.PUBLISHED):
            times = release.members.filter(action=Action.PUBLISH, article__status=Article.Status.PUBLISHED)
            assert set(times.values_list("article__publish_at", flat=True)) <= {release.publish_at}
        scheduled = Release.objects.scheduled().values_list("pk", flat=True)
        pending = TaskInfo.objects.filter(task_type=RELEASE).values_list("key", flat=True)
        assert {str(pk) for pk in scheduled} == set(pending)

    def check_members(self, live: dict[int, str]) -> None:
        """Readers see nothing of a member that they did not see when it joined."""
        held = {member.pk: member for member in ReleaseMember.objects.filter(holds=True).select_related("article")}
        self.seen = {pk: seen for pk, seen in self.seen.items() if pk in held}
        for pk, member in held.items():
            assert member.article is not None
            shown = live.get(member.article.pk)
            first = self.seen.setdefault(pk, shown)
            if member.action == Action.PUBLISH and first is None:
                assert shown is None, "a member is seen before its release"
                assert member.article.publish_at is None
            if member.action == Action.UPDATE and first is not None:
                assert shown in (None, first), "a newer text is seen before its release"
                assert not Update.objects.filter(article=member.article, publish_at__isnull=False).exists()


@hypothesis_settings(
    max_examples=INPUTS or 4,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(script=st.lists(transitions, min_size=8, max_size=30))
@pytest.mark.django_db(transaction=True)
def test_members_are_seen_by_the_commit_of_their_release_alone(travel: Travel, script: list[tuple[Any, ...]]) -> None:
    Release.objects.all().delete()
    Article.objects.all().delete()
    User.objects.all().delete()
    newsroom = Newsroom(travel, make_editor())
    for transition in script:
        newsroom.take(transition)
        newsroom.check()
    newsroom.wait(1000)
    newsroom.check_members(newsroom.live())
