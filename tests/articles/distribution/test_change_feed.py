"""The change feed: API clients miss nothing, and get nothing that readers did not see."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction
from hypothesis import example, given, strategies as st
from rest_framework.test import APIClient

from articles import publishing, releases
from articles.distribution import sequencer
from articles.exceptions import ArticleError
from articles.listing import encode_cursor
from articles.models import Article, Event, FeedHead, PendingChange, Release, Tag
from scheduling.database import read_database_clock
from scheduling.services import run_due
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_release, soon
from tests.drawn import drawing
from tests.harness import PATIENCE, eventually

URL = "/api/v1/articles/"
BEGINNING = "2000-01-01T00:00:00Z"
Status = Article.Status

pytestmark = pytest.mark.django_db


class Follower:
    """An API client with a copy of what readers see."""

    def __init__(self, start: str = BEGINNING, size: int = 3) -> None:
        self.checkpoint, self.size = start, size
        self.articles: dict[int, Any] = {}
        self.heard: list[tuple[int, str]] = []

    def poll(self) -> list[tuple[int, str]]:
        """Read to the end of the feed; returns the new changes."""
        heard, more = len(self.heard), True
        while more:
            response = APIClient().get(URL, {"updated_since": self.checkpoint, "page_size": str(self.size)})
            assert response.status_code == 200, response.json()
            page = response.json()
            for article in page["results"]:
                self.articles[article["id"]] = article
                self.heard.append((article["id"], "live"))
            for removal in page["removed"]:
                self.articles.pop(removal["id"], None)
                self.heard.append((removal["id"], removal["kind"]))
            self.checkpoint, more = page["checkpoint"], page["next"] is not None
        return self.heard[heard:]

    def check(self) -> None:
        """The copy is what the API shows of each live article."""
        live = Article.objects.live(read_database_clock()).values_list("pk", flat=True)
        shown = {pk: APIClient().get(f"{URL}{pk}/").json() for pk in live}
        copies = {
            pk: {name: one[name] for name in shown.get(pk, one) if name in one} for pk, one in self.articles.items()
        }
        assert copies == shown


@pytest.fixture
def follower() -> Follower:
    return Follower()


@pytest.fixture
def alice() -> User:
    return make_editor()


def out(title: str = "Bridge", **values: Any) -> Article:
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-1)} | values)


def move_times(article: Article, **times: datetime) -> None:
    """Let time pass: the clock alone changes what readers see, without a write."""
    pending = set(PendingChange.objects.values_list("pk", flat=True))
    Article.objects.filter(pk=article.pk).update(**times)
    PendingChange.objects.exclude(pk__in=pending).delete()


def test_an_article_that_is_approved_now_with_an_earlier_time_is_heard_of(follower: Follower) -> None:
    out("Newest")
    follower.poll()
    late = make_article("Late", status=APPROVED, publish_at=soon(days=-3))
    assert follower.poll() == [(late.pk, "live")]
    follower.check()


def test_a_worker_that_stores_that_an_article_is_live_adds_nothing_to_check(follower: Follower) -> None:
    """Readers see it by the clock already; other changes of the same statement are in the feed."""
    coming = make_article("Coming", status=APPROVED, publish_at=soon(days=1))
    follower.poll()
    move_times(coming, publish_at=soon())
    assert publishing.publish_due([coming.pk]).done == {coming.pk}
    assert not PendingChange.objects.exists()
    assert follower.poll() == [(coming.pk, "live")]
    other = make_article("Other", status=APPROVED, publish_at=soon(seconds=-1))
    follower.poll()
    Article.objects.filter(pk=other.pk).update(status=Status.PUBLISHED, title="New", published_at=soon())
    assert follower.poll() == [(other.pk, "live")]


def test_what_waits_for_long_adds_nothing_to_check(follower: Follower, alice: User) -> None:
    """An article that readers will see soon does: its transaction may end after its time."""
    unscheduled, waiting, again = (make_article(title, status=APPROVED) for title in ("New", "Waiting", "Again"))
    publishing.publish_now(again, by=alice)
    follower.poll()
    publishing.unpublish(again, by=alice)
    Article.objects.filter(pk=again.pk).update(status=APPROVED, publish_at=soon(days=1))
    assert follower.poll() == [(again.pk, "unpublished")]
    publishing.schedule_many([unscheduled, waiting, again], publish_at=soon(hours=1), by=alice)
    publishing.reschedule_many([waiting], shift=timedelta(hours=1), by=alice)
    publishing.unschedule(unscheduled, by=alice)
    Article.objects.filter(pk=again.pk).update(title="Unseen")
    assert not PendingChange.objects.exists()
    publishing.reschedule_many([waiting], shift=timedelta(hours=-1, minutes=-31), by=alice)
    assert PendingChange.objects.get().article_id == waiting.pk
    assert follower.poll() == []
    for article in (waiting, again):
        move_times(article, publish_at=read_database_clock())
    assert sorted(follower.poll()) == sorted([(waiting.pk, "live"), (again.pk, "live")])
    follower.check()


def test_what_goes_live_and_leaves_by_the_clock_is_heard_of(follower: Follower) -> None:
    coming = make_article("Coming", status=APPROVED, publish_at=soon(days=1))
    held = make_article("Held", status=APPROVED, publish_at=soon(days=-1), embargo_until=soon(days=1))
    leaving = out("Leaving", unpublish_at=soon(days=1))
    assert follower.poll() == [(leaving.pk, "live")]
    now = read_database_clock()
    move_times(coming, publish_at=now)
    move_times(held, embargo_until=now)
    move_times(leaving, unpublish_at=now)
    assert sorted(follower.poll()) == sorted([(coming.pk, "live"), (held.pk, "live"), (leaving.pk, "unpublished")])
    follower.check()


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("transition", "kind"),
    [
        (lambda article, by: publishing.unpublish(article, by=by), "unpublished"),
        (lambda article, by: publishing.retract(article, by=by, notice="Invented."), "retracted"),
        (lambda article, by: article.delete(), "deleted"),
        (lambda article, by: Article.objects.filter(pk=article.pk).delete(), "deleted"),
        (lambda article, by: Article.objects.update(status=Status.DRAFT), "unpublished"),
        (lambda article, by: publishing.set_embargo(article, until=soon(hours=1), by=by), "unpublished"),
    ],
)
def test_a_removal_is_heard_of_once_with_its_kind(follower: Follower, alice: User, transition: Any, kind: str) -> None:
    article = out()
    follower.poll()
    pk, before = article.pk, soon()
    try:
        transition(article, alice)
    except ArticleError:  # what is out gets no embargo by the services
        Article.objects.filter(pk=pk).update(embargo_until=soon(hours=1))
    response = APIClient().get(URL, {"updated_since": follower.checkpoint}).json()
    (removal,) = response["removed"]
    assert (removal["id"], removal["kind"], response["results"]) == (pk, kind, [])
    assert before - timedelta(seconds=1) <= datetime.fromisoformat(removal["at"]) <= soon()
    follower.poll()
    assert (follower.articles, follower.poll()) == ({}, [])


def test_what_no_one_saw_leaves_no_trace(follower: Follower, alice: User) -> None:
    follower.poll()
    for status in Status:
        article = make_article(f"Secret {status}", status=status, publish_at=soon(hours=1), embargo_until=soon(hours=2))
        follower.poll()
        article.delete()
    retracted = make_article("Retracted", status=APPROVED, publish_at=soon(hours=1))
    publishing.retract(retracted, by=alice, notice="No.")
    assert (follower.poll(), follower.heard, Event.objects.in_feed().count()) == ([], [], 0)


def test_an_update_is_in_the_feed_when_readers_see_it(follower: Follower, alice: User) -> None:
    article = out("Old")
    follower.poll()
    publishing.edit(article, by=alice, changes={"title": "New"}, correction="It was old.")
    publishing.submit(article, by=alice)
    publishing.approve(article, by=make_editor("bob"), revision=2)
    publishing.schedule_update(article, publish_at=soon(hours=1), by=alice)
    publishing.edit(article, by=alice, changes={"unpublish_at": soon(days=1)})
    assert follower.poll() == []
    publishing.publish_update(article, by=alice)
    assert follower.poll() == [(article.pk, "live")]
    assert follower.articles[article.pk]["corrections"][0]["note"] == "It was old."
    follower.check()


def test_new_names_are_heard_of(follower: Follower) -> None:
    author = User.objects.create_user("ada", first_name="Ada")
    channel, tag = make_channel(), Tag.objects.create(name="Rain")
    article = out(channel=channel, author=author)
    article.tags.add(tag)
    follower.poll()
    for thing, name in ((channel, "name"), (tag, "name"), (author, "first_name")):
        setattr(thing, name, "Other")
        thing.save()
        assert follower.poll() == [(article.pk, "live")]
        follower.check()
    article.tags.clear()
    assert follower.poll() == [(article.pk, "live")]
    follower.check()


def test_only_a_letter_in_another_case_is_a_change(follower: Follower) -> None:
    article = out("oslo")
    follower.poll()
    with connection.cursor() as cursor:  # another program
        cursor.execute("UPDATE articles_article SET title = 'Oslo' WHERE id = %s", [article.pk])
    assert follower.poll() == [(article.pk, "live")]
    assert follower.articles[article.pk]["title"] == "Oslo"


def test_a_release_and_its_rolling_back_are_heard_of(follower: Follower, alice: User) -> None:
    new, old, gone = make_article("New", status=APPROVED), out("Old"), out("Gone")
    publishing.edit(old, by=alice, changes={"title": "Newer"})
    publishing.submit(old, by=alice)
    publishing.approve(old, by=make_editor("bob"), revision=2)
    release = make_release(new, Article.objects.get(pk=old.pk), by=alice)
    releases.add_member(release, article=gone, action="unpublish", by=alice)
    follower.poll()
    releases.publish_release_now(release, by=alice)
    assert sorted(follower.poll()) == sorted([(new.pk, "live"), (old.pk, "live"), (gone.pk, "unpublished")])
    follower.check()
    releases.roll_back_release(Release.objects.get(), by=alice)
    assert sorted(follower.poll()) == sorted([(new.pk, "unpublished"), (old.pk, "live"), (gone.pk, "live")])
    follower.check()


def test_a_page_never_ends_between_things_that_are_lost(follower: Follower) -> None:
    articles = [out(f"No. {number}", publish_at=soon(hours=-1)) for number in range(8)]
    first = APIClient().get(URL, {"updated_since": BEGINNING, "page_size": "5"}).json()
    assert len(first["results"]) == 5
    assert f"updated_since={first['checkpoint']}" in first["next"]
    Article.objects.filter(pk=articles[0].pk).update(title="Changed meanwhile")
    gone = articles[7].pk
    articles[7].delete()
    rest = APIClient().get(first["next"]).json()
    assert [one["id"] for one in rest["results"]] == [articles[5].pk, articles[6].pk, articles[0].pk]
    assert [one["id"] for one in rest["removed"]] == [gone]


def test_a_time_is_a_place_to_begin(follower: Follower) -> None:
    out("Before")
    follower.poll()
    started = soon()
    later = out("Later", publish_at=soon(days=-1))
    assert [one["id"] for one in APIClient().get(URL, {"updated_since": started.isoformat()}).json()["results"]] == [
        later.pk
    ]
    ahead = APIClient().get(URL, {"updated_since": soon(days=1).isoformat()}).json()
    assert (ahead["results"], ahead["checkpoint"]) == ([], encode_cursor("changes", [FeedHead.objects.get().sequence]))


@pytest.mark.parametrize("wrong", ["", "c1", "~", "٣", "yesterday", "2026-03-01T12:00:00", "of another list", "ahead"])
def test_a_checkpoint_that_is_none_is_refused(wrong: str) -> None:
    forged = {"of another list": encode_cursor("other", [0]), "ahead": encode_cursor("changes", [99])}
    response = APIClient().get(URL, {"updated_since": forged.get(wrong, wrong)})
    assert (response.status_code, list(response.json())) == (400, ["updated_since", "code"])


@pytest.mark.parametrize("other", [{"channel": "politics"}, {"q": "rain"}, {"since": BEGINNING}, {"until": BEGINNING}])
def test_changes_are_followed_as_a_whole(other: dict[str, str]) -> None:
    make_channel()
    response = APIClient().get(URL, {"updated_since": BEGINNING, **other})
    assert (response.status_code, response.json()["code"]) == (400, "not_with_filters")
    assert APIClient().get(URL, {"updated_since": BEGINNING, "cursor": "x"}).status_code == 400


def test_the_usual_list_stays_as_it_is() -> None:
    article = out()
    page = APIClient().get(URL).json()
    assert list(page) == ["next", "previous", "results"]
    assert page["results"][0]["id"] == article.pk
    assert not {"body", "corrections"} & page["results"][0].keys()


def test_many_changes_are_entered_in_parts(follower: Follower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequencer, "MOST", 2)
    articles = [out(f"No. {number}") for number in range(7)]
    for _round in range(4):
        follower.poll()
    assert set(follower.articles) == {article.pk for article in articles}
    Article.objects.update(summary="New")
    assert sequencer.catch_up_completely() == 0
    assert not PendingChange.objects.exists()
    assert len(follower.poll()) == 7


def test_a_lost_feed_is_rebuilt() -> None:
    article = out()
    Follower().poll()
    for model in (FeedHead, Event, PendingChange):
        model.objects.all().delete()
    assert APIClient().get(URL, {"updated_since": encode_cursor("changes", [1])}).status_code in (200, 400)
    assert Follower().poll() == [(article.pk, "live")]


def test_a_clock_that_is_set_back_brings_nothing_live_early(follower: Follower) -> None:
    article = out(publish_at=soon(minutes=-5))
    follower.poll()
    FeedHead.objects.update(looked_at=soon(hours=1))
    move_times(article, publish_at=soon(minutes=30))
    assert follower.poll() == [(article.pk, "unpublished")]


def test_an_article_that_gets_a_later_time_after_the_clock_is_set_back_is_heard_of(follower: Follower) -> None:
    article = out(publish_at=soon(minutes=-5))
    follower.poll()
    FeedHead.objects.update(looked_at=soon(hours=2))
    Event.objects.update(happened_at=soon(hours=1))
    move_times(article, publish_at=soon(hours=5))
    assert follower.poll() == [(article.pk, "unpublished")]
    assert follower.poll() == []


def test_an_entry_has_the_time_at_which_it_went_live_not_an_earlier_one_of_its_text(follower: Follower) -> None:
    """Otherwise a clock that is set back between both would hide that it is not live any more."""
    article = out(publish_at=soon(minutes=-5))
    PendingChange.objects.update(at=soon(minutes=-40))
    follower.poll()
    assert Event.objects.in_feed().get().happened_at == article.publish_at


@pytest.mark.django_db(transaction=True)
def test_a_transaction_that_ends_late_is_not_missed() -> None:
    first, late = out("First"), out("Late")
    follower, written, may_end = Follower(), threading.Event(), threading.Event()
    follower.poll()

    def write_slowly() -> None:
        try:
            with transaction.atomic():
                Article.objects.filter(pk=late.pk).update(title="Written before, committed after")
                written.set()
                may_end.wait(PATIENCE)
        finally:
            connection.close()

    writer = threading.Thread(target=write_slowly)
    writer.start()
    assert written.wait(PATIENCE)
    if connection.vendor != "sqlite":  # where no other connection writes
        Article.objects.filter(pk=first.pk).update(title="Written after, committed before")
        assert follower.poll() == [(first.pk, "live")]
    may_end.set()
    writer.join()
    assert (late.pk, "live") in follower.poll()
    follower.check()


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_get_the_same_response(alice: User) -> None:
    articles = [make_article(f"No. {number}", status=APPROVED, publish_at=soon(seconds=0.2)) for number in range(20)]
    followers = [Follower() for _ in range(4)]
    stop, faults = threading.Event(), []

    def read(one: Follower) -> None:
        try:
            while not stop.is_set():
                one.poll()
        except BaseException as error:  # noqa: BLE001 (told below)
            faults.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=read, args=[one]) for one in followers]
    for thread in threads:
        thread.start()
    for article in articles[:10]:
        Article.objects.filter(pk=article.pk).update(summary="New")
    eventually(lambda: all(len(one.articles) == 20 for one in followers) or bool(faults))
    stop.set()
    for thread in threads:
        thread.join()
    assert faults == []
    for one in followers:
        one.poll()
        one.check()
        numbers = [int(pk) for pk, _kind in one.heard]
        assert set(numbers) == {article.pk for article in articles}


ACTS = [
    "write",
    "schedule",
    "publish",
    "unpublish",
    "republish",
    "retract",
    "undo_retraction",
    "delete",
    "edit",
    "submit",
    "approve",
]
ACTS += ["update", "end", "hold", "tag", "bulk", "work", "poll", "wait"]
DISTANCES = [-3, -2, -1, 0, 3600]
"""Seconds; what lies ahead comes when the history waits for it, and never between a poll and its check."""


class History:
    """A newsroom in which anything may happen, with two API clients that follow it."""

    def __init__(self, editor: User, reviewer: User) -> None:
        self.editor, self.reviewer, self.articles = editor, reviewer, list[int]()
        self.eager, self.lazy = Follower(size=2), Follower(size=50)
        self.tag = Tag.objects.get_or_create(name="Rain")[0]

    def happen(self, act: str, which: int, seconds: int) -> None:
        if act == "write" or not self.articles:
            times = {"publish_at": soon(seconds=seconds)}
            self.articles.append(make_article(f"No. {which}", status=APPROVED, **times).pk)
        elif act == "poll":
            self.eager.poll()
        elif act == "work":
            run_due(50)
        elif article := Article.objects.filter(pk=self.articles[which % len(self.articles)]).first():
            try:
                with transaction.atomic():
                    self.take(act, article, soon(seconds=seconds))
            except ArticleError:
                return

    def take(self, act: str, article: Article, moment: datetime) -> None:
        by, rows = self.editor, Article.objects.filter(pk=article.pk)
        acts: dict[str, Callable[[], Any]] = {
            "schedule": lambda: publishing.schedule(article, publish_at=moment, by=by),
            "publish": lambda: publishing.publish_now(article, by=by),
            "unpublish": lambda: publishing.unpublish(article, by=by),
            "republish": lambda: publishing.republish(article, by=by),
            "retract": lambda: publishing.retract(article, by=by, notice="No."),
            "undo_retraction": lambda: publishing.undo_retraction(article, by=by),
            "delete": lambda: article.delete(),
            "edit": lambda: publishing.edit(article, by=by, changes={"title": f"{article.title}'"}),
            "submit": lambda: publishing.submit(article, by=by),
            "approve": lambda: publishing.approve(article, by=self.reviewer, revision=article.revisions.count()),
            "update": lambda: publishing.publish_update(article, by=by),
            "end": lambda: rows.update(unpublish_at=moment),
            "hold": lambda: rows.update(embargo_until=moment),
            "tag": lambda: article.tags.set([] if article.tags.exists() else [self.tag]),
            "bulk": lambda: Article.objects.filter(title__startswith="No.").update(summary=f"{moment}"),
            "wait": lambda: self.wait(article),
        }
        acts[act]()

    def wait(self, article: Article) -> None:
        """Move the article's times into the past, without later writes."""
        now = read_database_clock()
        times = {name: getattr(article, name) for name in ("publish_at", "embargo_until", "unpublish_at")}
        if coming := {name: now for name, time in times.items() if time is not None and time > now}:
            move_times(article, **coming)


def test_whatever_happens_a_follower_ends_with_what_readers_see(alice: User) -> None:
    bob = make_editor("bob")
    moves = st.tuples(st.sampled_from(ACTS), st.integers(0, 5), st.sampled_from(DISTANCES))

    @drawing(40)
    @example([("write", 0, 0), ("poll", 0, 0), ("wait", 0, 0)])
    @example([("write", 0, 3600), ("poll", 0, 0), ("wait", 0, 0)])
    @example([("write", 0, 0), ("hold", 0, 3600), ("poll", 0, 0), ("wait", 0, 0)])
    @example([("write", 0, 0), ("end", 0, 3600), ("poll", 0, 0), ("wait", 0, 0)])
    @given(st.lists(moves, min_size=3, max_size=25))
    def follow(history: list[tuple[str, int, int]]) -> None:
        with transaction.atomic():
            newsroom = History(alice, bob)
            for act, which, seconds in history:
                newsroom.happen(act, which, seconds)
            for follower in (newsroom.eager, newsroom.lazy):
                follower.poll()
                follower.check()
            seen = {pk for pk, kind in newsroom.eager.heard if kind == "live"}
            assert {pk for pk, _kind in newsroom.eager.heard} <= seen | {pk for pk, _kind in newsroom.lazy.heard}
            transaction.set_rollback(True)

    follow()
