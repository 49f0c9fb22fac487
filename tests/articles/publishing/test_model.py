"""The newsroom against a model: random edits, reviews, schedules, updates, embargoes, retractions and time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, example, given, settings as hypothesis_settings, strategies as st

from articles import publishing, review
from articles.exceptions import ArticleError
from articles.models import Article, AuditEntry, ReviewPolicy, ReviewStage, Revision, SensitiveWord, Tag, Text, Update
from articles.publishing.rescan import review_again
from articles.publishing.revisions import for_review
from articles.publishing.tags import rename_tag
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo
from scheduling.services import refresh, run_due
from tests.articles.factories import make_article, make_editor, make_user
from tests.drawn import INPUTS
from tests.scheduling.conftest import (
    Travel,
    travel as travel,  # a fixture
)

Status = Article.Status

STATUSES: Mapping[str, Collection[Article.Status]] = {
    "unapproved": {Status.DRAFT, Status.SUBMITTED, Status.REJECTED, Status.MANUAL_REVIEW},
    "waiting": {*Status.waiting(), Status.PUBLISHED},
    "out": {Status.PUBLISHED},
    "off": {Status.UNPUBLISHED},
    "retracted": {Status.RETRACTED},
}

keys = st.sampled_from(["a", "b"])
seconds = st.integers(min_value=-1, max_value=10).map(lambda number: 30 * number)
waits = st.integers(min_value=0, max_value=4).map(lambda number: 30 * number)
"""Half minutes, so that no time passes by itself during a check."""

PLAIN = [
    "edit",
    "submit",
    "approve",
    "approve_what_was_read_before",
    "reject",
    "cancel",
    "publish",
    "unpublish",
    "republish",
    "publish_update",
    "unschedule_update",
    "discard",
    "retract",
    "undo_retraction",
    "go_back",
    "reassign",
    "another_edits",
    "save_too_late",
    "rename_the_tag",
    "override",
    "approve_after_a_change_of_time",
]
USERS = ["alice", "bob", "carol"]
users = st.sampled_from(USERS)
TIMED = ["schedule", "reschedule", "embargo", "schedule_update"]
single = st.one_of(
    st.tuples(st.sampled_from(PLAIN), keys),
    st.tuples(st.sampled_from(["edit", "get_approved"]), keys),
    st.tuples(st.sampled_from(TIMED), keys, seconds),
    st.tuples(st.sampled_from(["lift", "write_of_a_scandal"]), keys),
    st.tuples(st.just("enter"), users),
    st.tuples(st.just("choose_the_machine"), st.sampled_from(ReviewPolicy.Machine.values)),
    st.tuples(st.sampled_from(["one_stage", "two_stages", "two_other_stages"])),
    st.tuples(st.just("forbid")),
    st.tuples(st.just("work")),
    st.tuples(st.just("wait"), waits),
)
STORIES = [
    "get_approved schedule edit wait",
    "write_of_a_scandal get_approved schedule forbid wait",
    "get_approved publish write_of_a_scandal get_approved schedule_update forbid wait work",
    "get_approved schedule embargo publish wait work",
    "embargo get_approved schedule publish lift publish",
    "submit edit approve_what_was_read_before approve schedule wait",
    "get_approved publish edit get_approved schedule_update edit wait work",
    "get_approved schedule unpublish cancel republish reject wait",
    "get_approved publish unpublish edit get_approved republish",
    "get_approved schedule embargo schedule wait",
    "get_approved schedule edit submit reject wait",
    "edit submit reassign rename_the_tag approve approve publish",
    "edit another_edits submit reassign approve publish",
    "edit submit save_too_late approve publish",
    "submit approve_after_a_change_of_time approve publish",
    "edit submit override publish edit submit reassign approve publish_update",
    "two_stages get_approved schedule edit get_approved publish_update wait",
    "two_stages submit pass_a_stage approve edit pass_a_stage pass_a_stage publish",
    "two_stages submit pass_a_stage two_other_stages pass_a_stage one_stage approve pass_a_stage schedule wait",
    "submit two_stages pass_a_stage reject submit pass_a_stage override publish",
]
"""Random transitions rarely reach these: each runs once as it is, and many times in part."""

DISTANCES = {"schedule": 60, "embargo": 100, "schedule_update": 30, "wait": 80}
"""Seconds, in a complete story."""

STAGES = frozenset({"one_stage", "two_stages", "two_other_stages"})
WITHOUT_ARTICLE = frozenset({"forbid", "work", "wait"}) | STAGES


def script_of(story: str) -> list[tuple[Any, ...]]:
    """The story as a script about one article."""
    return [
        (name, *(() if name in WITHOUT_ARTICLE else ("a",)), *([DISTANCES[name]] if name in DISTANCES else []))
        for name in story.split()
    ]


def each_story(test: Any) -> Any:
    """Run every story in every run."""
    for story in STORIES:
        test = example(script=script_of(story))(test)
    return test


@st.composite
def stories(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    """One story about one article, with random distances and sometimes without one of its transitions."""
    key, names = draw(keys), draw(st.sampled_from(STORIES)).split()
    left_out = draw(st.integers(min_value=0, max_value=3 * len(names)))
    return [
        (name, key, draw(seconds)) if name in TIMED else _untimed(name, key, draw)
        for number, name in enumerate(names)
        if number != left_out
    ]


def _untimed(name: str, key: str, draw: st.DrawFn) -> tuple[Any, ...]:
    if name == "wait":
        return name, draw(waits)
    return (name,) if name in WITHOUT_ARTICLE else (name, key)


scripts = st.lists(st.one_of(single.map(lambda transition: [transition]), stories()), min_size=4, max_size=14).map(
    lambda parts: [transition for part in parts for transition in part]
)


class Wording(NamedTuple):
    """A text, as far as this test distinguishes texts."""

    title: str
    tags: tuple[str, ...]

    @classmethod
    def of(cls, revision: Revision) -> Wording:
        return cls(revision.title, tuple(revision.tags))

    def renamed(self, old: str, new: str) -> Wording:
        return self._replace(tags=tuple(new if tag == old else tag for tag in self.tags))


@dataclass
class Expected:
    """The expected state of one article: the text that readers see once it is due, and its updates."""

    text: Wording
    state: str = "unapproved"
    draft: Wording | None = None
    waiting: Wording | None = None
    at: datetime | None = None
    """The time that was chosen for it; only transitions about times change it."""

    @property
    def newest(self) -> Wording:
        return self.draft or self.waiting or self.text


class Newsroom:
    """Changes two articles, and knows what readers may see."""

    def __init__(self, travel: Travel) -> None:
        self.users = {name: make_editor(name) for name in USERS}
        self.root = make_user("root", is_superuser=True)
        self.travel, self.editor, self.edits = travel, self.users["alice"], 0
        self.tag = Tag.objects.create(name="Tag 0")
        self.articles = {key: make_article(f"{key} 0", author=self.editor) for key in ("a", "b")}
        for article in self.articles.values():
            article.tags.add(self.tag)
        self.expected = {key: Expected(Wording(f"{key} 0", (self.tag.name,))) for key in self.articles}
        self.wrote = {key: {self.editor.pk} for key in self.articles}
        """The contributors to the newest text of each since its last approval."""
        self.approved: set[str] = set()
        self.machine = ReviewPolicy.Machine.NEVER.value
        self.stages = ["first"]
        self.passed: dict[tuple[str, int], dict[str, int]] = {}
        """Who approved which revision of each article at which stage."""

    def take(self, service: Callable[..., Any], key: str, **arguments: Any) -> bool:
        """Whether the newsroom did it; when it refused, nothing has changed."""
        before, was_out = (self.stored(key), self.tasks(key)), self.is_update_out(key)
        try:
            service(self.articles[key], by=self.editor, **arguments)
        except ArticleError:
            assert (self.stored(key), self.tasks(key)) == before
            return False
        if was_out:  # which is stored before the article is changed
            self.replace(key)
        return True

    def stored(self, key: str) -> Any:
        """The state without revision numbers: a refusal may store a new revision."""
        names = (
            "status",
            "title",
            "publish_at",
            "embargo_until",
            "author",
            "update__draft__title",
            "update__publish_at",
        )
        return Article.objects.filter(pk=self.articles[key].pk).values_list(*names, "update__approved__title").get()

    def tasks(self, key: str) -> list[Any]:
        pending = TaskInfo.objects.filter(key=str(self.articles[key].pk))
        return list(pending.order_by("task_type").values_list("task_type", "execute_time"))

    def retimed(self, key: str) -> None:
        self.expected[key].at = self.article(key).publish_at

    def edit(self, key: str, about: str = "nothing") -> None:
        self.edits += 1
        title = f"{key} {self.edits} about {about}"
        if self.take(publishing.edit, key, changes={"title": title}):
            self.wrote[key].add(self.editor.pk)
            self.write(key, self.expected[key].newest._replace(title=title))

    def write_of_a_scandal(self, key: str) -> None:
        self.edit(key, "a scandal")

    def write(self, key: str, text: Wording) -> None:
        expected = self.expected[key]
        if text == expected.newest:
            return
        if expected.state == "unapproved":
            expected.text = text
        else:
            expected.draft = text

    def go_back(self, key: str) -> None:
        first = self.articles[key].revisions.earliest("number")
        if self.take(publishing.restore_revision, key, number=first.number):
            self.wrote[key] |= {self.editor.pk, *({first.author_id} if first.author_id else ())}
            self.write(key, Wording.of(first))

    def enter(self, name: str) -> None:
        """Another person is at work from now on."""
        self.editor = self.users[name]

    def reassign(self, key: str) -> None:
        """The article gets another author: the editor, the old and the new author are contributors."""
        old = self.article(key).author
        new = next(user for user in self.users.values() if user != old)
        if self.take(publishing.edit, key, changes={"author": new}):
            self.wrote[key] |= {self.editor.pk, old.pk, new.pk} if old else {self.editor.pk, new.pk}

    def another_edits(self, key: str) -> None:
        at_work = self.editor
        self.editor = next(user for user in self.users.values() if user != at_work)
        self.edit(key)
        self.editor = at_work

    def save_too_late(self, key: str) -> None:
        """Another person's text is put aside, which changes nothing."""
        late = next(user for user in self.users.values() if user != self.editor)
        before = self.stored(key)
        with contextlib.suppress(ArticleError):
            publishing.edit(self.articles[key], by=late, changes={"title": "Too late"}, seen=self.later(-10_000))
        assert self.stored(key) == before

    def rename_the_tag(self, key: str) -> None:
        self.edits += 1
        old, new = self.tag.name, f"Tag {self.edits}"
        rename_tag(self.tag, name=new, slug=self.tag.slug, by=self.root)
        for expected in self.expected.values():
            expected.text = expected.text.renamed(old, new)

    def choose_the_machine(self, machine: str) -> None:
        self.machine = machine
        review.choose_policy(machine, by=self.root)

    def one_stage(self) -> None:
        self.choose_stages("first")

    def two_stages(self) -> None:
        self.choose_stages("first", "final")

    def two_other_stages(self) -> None:
        self.choose_stages("second", "first")

    def choose_stages(self, *stages: str) -> None:
        self.stages = [*stages]
        review.choose_stages([review.StageChoice(stage) for stage in stages], by=self.root)

    def submit(self, key: str) -> None:
        if not self.take(publishing.submit, key):
            return
        self.begin_review(key)
        if self.passed_by_machine(key):
            assert self.machine != ReviewPolicy.Machine.NEVER, "the machine approved unasked"
            assert len(self.stages) == 1, "the machine skipped a stage"
            self.adopt(key)

    def begin_review(self, key: str) -> None:
        """The text waits at the first stage."""
        self.passed = {(about, number): users for (about, number), users in self.passed.items() if about != key}

    def passed_by_machine(self, key: str) -> bool:
        entry = AuditEntry.objects.of(self.articles[key]).first()
        return entry is not None and entry.details.get("approved_by") == "automatic review"

    def read(self, key: str) -> int:
        """What a reviewer has before him."""
        return for_review(self.article(key)).number

    def approve(self, key: str) -> None:
        had_a_hand, number = self.editor.pk in self.hands(key), self.read(key)
        passed = self.passed.setdefault((key, number), {})
        stage = next((stage for stage in self.stages if stage not in passed), self.stages[-1])
        if not self.take(publishing.approve, key, revision=number):
            return
        assert not had_a_hand, f"{self.editor} approved a text of theirs"
        assert self.editor.pk not in passed.values(), f"{self.editor} decided at two stages"
        passed[stage] = self.editor.pk
        if passed.keys() >= {*self.stages}:
            self.adopt(key)

    def pass_a_stage(self, key: str) -> None:
        """A user approves who has neither written nor approved the text, if there is one."""
        at_work, passed = self.editor, self.passed.get((key, self.read(key)), {})
        barred = self.hands(key) | {*passed.values()}
        self.editor = next((user for user in self.users.values() if user.pk not in barred), at_work)
        self.approve(key)
        self.editor = at_work

    def override(self, key: str) -> None:
        """The administrator approves any text."""
        number = self.read(key)
        try:
            publishing.approve(self.articles[key], by=self.root, revision=number, override="Nobody else is here.")
        except ArticleError:
            return
        assert AuditEntry.objects.latest("pk").details["override"] == "Nobody else is here."
        self.adopt(key)

    def approve_after_a_change_of_time(self, key: str) -> None:
        """A text that a reviewer read before its time was changed is not approved."""
        number, before = self.read(key), self.article(key).publish_at
        status = self.article(key).status
        time = self.later(-60) if before is None else None
        if status not in Status.unapproved() or not self.take(publishing.edit, key, changes={"publish_at": time}):
            return
        self.retimed(key)
        assert not self.take(publishing.approve, key, revision=number) or time == before

    def hands(self, key: str) -> set[int]:
        author = self.article(key).author_id
        return self.wrote[key] | ({author} if author else set())

    def approve_what_was_read_before(self, key: str) -> None:
        newest = self.read(key)
        for stale in (newest - 1, newest + 1):
            assert not self.take(publishing.approve, key, revision=stale)
            assert not self.take(publishing.reject, key, revision=stale, reason="No.")

    def get_approved(self, key: str) -> None:
        """Random steps alone seldom come this far."""
        self.submit(key)
        for _stage in self.stages:
            self.pass_a_stage(key)

    def adopt(self, key: str) -> None:
        expected, article = self.expected[key], self.article(key)
        self.begin_review(key)
        self.approved.add((expected.draft or expected.text).title)
        self.wrote[key] = set()
        if expected.draft is None:
            expected.state = "waiting"
        elif article.pending_update is None:
            assert not self.is_out(key), "an update replaced what readers see, before its time"
            expected.text, expected.draft, expected.waiting = expected.draft, None, None
        else:
            expected.waiting, expected.draft = expected.draft, None

    def reject(self, key: str) -> None:
        self.take(publishing.reject, key, reason="No.")

    def schedule(self, key: str, distance: int) -> None:
        moment, end = self.later(distance), self.article(key).embargo_until
        if self.take(publishing.schedule, key, publish_at=moment):
            assert end is None or end <= max(moment, read_database_clock())
            assert self.article(key).publish_at == moment
            self.retimed(key)

    def reschedule(self, key: str, distance: int) -> None:
        shift, before = timedelta(seconds=distance), self.article(key).publish_at

        def move(article: Article, *, by: User) -> None:
            assert publishing.reschedule_many([article], shift=shift, by=by) in (0, before is not None)

        if self.take(move, key):
            assert self.article(key).publish_at in (before, before and before + shift)
            self.retimed(key)

    def cancel(self, key: str) -> None:
        if self.take(publishing.unschedule, key):
            self.expected[key].at = None

    def publish(self, key: str) -> None:
        end = self.article(key).embargo_until
        if self.take(publishing.publish_now, key):
            assert end is None or end <= read_database_clock(), "published under embargo"
            self.expected[key].state = "out"
            self.retimed(key)

    def unpublish(self, key: str) -> None:
        was_out = self.is_out(key)
        if self.take(publishing.unpublish, key):
            assert was_out
            self.expected[key].state = "off"

    def republish(self, key: str) -> None:
        if self.take(publishing.republish, key):
            self.expected[key].state = "out"
            self.retimed(key)

    def embargo(self, key: str, distance: int) -> None:
        self.take(publishing.set_embargo, key, until=self.later(distance))

    def lift(self, key: str) -> None:
        self.take(publishing.set_embargo, key, until=None)

    def retract(self, key: str) -> None:
        if self.take(publishing.retract, key, notice="It was invented."):
            self.expected[key] = Expected(self.expected[key].text, state="retracted")
            self.retimed(key)

    def undo_retraction(self, key: str) -> None:
        if self.take(publishing.undo_retraction, key):
            self.expected[key].state = "off"

    def schedule_update(self, key: str, distance: int) -> None:
        self.take(publishing.schedule_update, key, publish_at=self.later(distance))

    def unschedule_update(self, key: str) -> None:
        self.take(publishing.unschedule_update, key)

    def publish_update(self, key: str) -> None:
        if self.take(publishing.publish_update, key):
            self.replace(key)

    def discard(self, key: str) -> None:
        expected = self.expected[key]
        if self.take(publishing.discard_update, key):
            if expected.draft is not None:
                expected.draft = None
            else:
                expected.waiting = None

    def replace(self, key: str) -> None:
        expected = self.expected[key]
        assert expected.waiting is not None
        expected.text, expected.waiting = expected.waiting, None

    def forbid(self) -> None:
        SensitiveWord.objects.create(text="scandal", level=SensitiveWord.Level.BLOCK)
        for key, expected in self.expected.items():
            if expected.waiting and "scandal" in expected.waiting.title:
                if self.is_update_out(key):
                    self.replace(key)  # it is stored, as readers have it, before the article is reviewed again
                    continue
                self.wrote[key] |= self.ever(key)
                expected.draft, expected.waiting = expected.draft or expected.waiting, None
            if expected.state == "waiting" and "scandal" in expected.text.title and not self.is_out(key):
                self.wrote[key] |= self.ever(key)
                self.expected[key] = Expected(expected.newest, at=expected.at)
        review_again()
        SensitiveWord.objects.all().delete()

    def ever(self, key: str) -> set[int]:
        """The writers of the text whose approval was revoked."""
        pending_update = self.article(key).pending_update
        revision = (pending_update and pending_update.approved) or self.articles[key].revisions.get(
            number=self.article(key).revision
        )
        return {revision.author_id} if revision.author_id else set()

    def work(self) -> None:
        due = [key for key in self.articles if self.is_update_out(key)]
        refresh()
        run_due(100)
        for key in due:
            self.replace(key)

    def wait(self, distance: int) -> None:
        self.travel(distance + 0.01)

    def later(self, distance: int) -> Any:
        return read_database_clock() + timedelta(seconds=distance)

    def article(self, key: str) -> Article:
        return Article.objects.get(pk=self.articles[key].pk)

    def is_out(self, key: str) -> bool:
        expected, article, now = self.expected[key], self.article(key), read_database_clock()
        due = article.goes_live_at
        return expected.state in ("waiting", "out") and due is not None and due <= now

    def is_update_out(self, key: str) -> bool:
        """Whether readers have the approved update, whether or not a worker has stored that."""
        waiting = self.article(key).pending_update or Update()
        due = waiting.publish_at if waiting.approved_id else None
        return due is not None and due <= read_database_clock()

    def check(self) -> None:
        now = read_database_clock()
        live = set(Article.objects.live(now).values_list("pk", flat=True))
        articles = Article.objects.select_related("update__draft", "update__approved").in_bulk()
        for key, expected in self.expected.items():
            article = articles[self.articles[key].pk]
            assert article.status in STATUSES[expected.state]
            shown, pending_update = Text.of(article), article.pending_update or Update()
            assert (shown.title, shown.tags, article.publish_at) == (*expected.text, expected.at)
            texts = [revision and Wording.of(revision) for revision in (pending_update.draft, pending_update.approved)]
            assert texts == [expected.draft, expected.waiting]
            assert (article.pk in live) == self.is_out(key)
            if article.pk in live:
                assert shown.title in self.approved
                assert article.embargo_until is None or article.embargo_until <= now
                revision = article.revisions.get(number=article.revision)
                assert replace(revision.text, tags=shown.tags) == shown
                assert {*shown.tags} <= {*revision.tags, self.tag.name}, "only the administrator renamed a tag"


@hypothesis_settings(
    max_examples=INPUTS or 2,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@each_story
@example(
    script=[("enter", "alice"), ("lift", "a"), ("enter", "alice"), ("get_approved", "a"), ("forbid",), ("go_back", "a")]
)
@given(script=scripts)
@pytest.mark.django_db(transaction=True)
def test_what_is_live_is_always_an_approved_revision_whose_time_has_come(
    travel: Travel, script: list[tuple[Any, ...]]
) -> None:
    """R5.3 R5.5: readers see what was approved by a user who did not contribute, automatically where the
    newsroom chose that, or by an override.
    """
    Article.objects.all().delete()
    User.objects.all().delete()
    Tag.objects.all().delete()
    ReviewPolicy.objects.all().delete()
    ReviewStage.objects.all().delete()
    newsroom = Newsroom(travel)
    for name, *arguments in script:
        getattr(newsroom, name)(*arguments)
        newsroom.check()
    newsroom.wait(1000)
    newsroom.work()
    newsroom.check()
