"""Events: each change that other systems hear of is written once, with the change, and numbered without gaps."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from articles import publishing, releases
from articles.audit import NewEvent, write_events
from articles.distribution.sequencer import catch_up, catch_up_completely
from articles.models import Article, AuditEntry, Event, FeedHead, Release, Update
from scheduling.database import read_database_clock
from scheduling.services import run_due
from tests.articles.distribution.test_change_feed import move_times
from tests.articles.factories import APPROVED, make_article, make_editor, make_front, make_release, soon
from tests.articles.publishing.test_races import together

Kind = Event.Kind
Status = Article.Status

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return make_editor()


def kinds_of(**about: Any) -> list[str]:
    """The kinds of all events, in the order of their numbers, which have no gaps."""
    catch_up_completely()
    events = list(Event.objects.order_by("seq"))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [event.kind for event in events if all(getattr(event, name) == value for name, value in about.items())]


def of_article(article: Article) -> list[str]:
    """The kinds of the events about an article; a release may have its number."""
    kinds_of()
    events = Event.objects.of_articles().filter(object_id=article.pk).order_by("seq")
    return list(events.values_list("kind", flat=True))


def with_update(article: Article, alice: User, correction: str = "") -> Article:
    publishing.edit(article, by=alice, changes={"title": f"{article.title} again"}, correction=correction)
    publishing.submit(article, by=alice)
    reviewer = User.objects.filter(username="bob").first() or make_editor("bob")
    publishing.approve(article, by=reviewer, revision=article.revisions.latest("number").number)
    return Article.objects.get(pk=article.pk)


def test_each_transition_that_readers_notice_is_an_event_of_its_transaction(alice: User) -> None:
    article = make_article(status=APPROVED)
    publishing.publish_now(article, by=alice)
    publishing.publish_update(with_update(article, alice), by=alice)
    publishing.publish_update(with_update(article, alice, correction="It was wrong."), by=alice)
    publishing.unpublish(article, by=alice)
    publishing.republish(article, by=alice)
    publishing.retract(article, by=alice, notice="Invented.")
    expected = [Kind.PUBLISHED, Kind.UPDATED, Kind.CORRECTED, Kind.UNPUBLISHED, Kind.REPUBLISHED, Kind.RETRACTED]
    assert list(Event.objects.order_by("pk").values_list("kind", flat=True)) == expected  # before the sequencer came
    assert kinds_of(object_id=article.pk) == expected
    revisions = list(Event.objects.order_by("seq").values_list("revision", flat=True))
    assert revisions == sorted(revisions)
    assert len(set(revisions)) == 3


def test_an_event_is_rolled_back_with_its_change(alice: User) -> None:
    article = make_article(status=APPROVED)
    with pytest.raises(RuntimeError), transaction.atomic():
        publishing.publish_now(article, by=alice)
        assert Event.objects.exists()
        raise RuntimeError
    assert (kinds_of(), AuditEntry.objects.filter(action="publish_now").exists()) == ([], False)


def test_the_newsroom_hears_of_schedules(alice: User) -> None:
    one, two = make_article("One", status=APPROVED), make_article("Two", status=APPROVED)
    at = soon(hours=1)
    publishing.schedule(one, publish_at=at, by=alice)
    publishing.schedule_many([two], publish_at=at, by=alice)
    publishing.reschedule_many([two], shift=timedelta(hours=1), by=alice)
    publishing.unschedule(one, by=alice)
    publishing.retract(two, by=alice, notice="No.")
    assert kinds_of(object_id=one.pk) == [Kind.SCHEDULED, Kind.UNSCHEDULED]
    assert kinds_of(object_id=two.pk) == [Kind.SCHEDULED, Kind.SCHEDULED, Kind.UNSCHEDULED]  # readers never saw it
    planned = Event.objects.filter(object_id=two.pk, kind=Kind.SCHEDULED).order_by("seq")
    assert [event.planned_at for event in planned] == [at, at + timedelta(hours=1)]


def test_the_newsroom_hears_of_an_embargo_that_moves_the_moment_of_an_article(alice: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    for until in (soon(hours=5), soon(minutes=1), None):  # the second one ends before its time
        publishing.set_embargo(article, until=until, by=alice)
    assert kinds_of() == [Kind.SCHEDULED] * 3
    publishing.set_embargo(make_article("Without a time", status=APPROVED), until=soon(hours=1), by=alice)
    assert kinds_of() == [Kind.SCHEDULED] * 3


def test_an_approval_with_a_time_schedules(alice: User) -> None:
    article = make_article(status=Status.MANUAL_REVIEW, publish_at=soon(hours=1), author=alice)
    publishing.approve(article, by=make_editor("bob"), revision=article.revisions.latest("number").number)
    assert kinds_of() == [Kind.SCHEDULED]


@pytest.mark.django_db(transaction=True)
def test_what_a_worker_publishes_has_its_planned_time() -> None:
    for number in range(3):
        make_article(f"No. {number}", status=APPROVED, publish_at=soon(seconds=-5))
    assert kinds_of() == [Kind.PUBLISHED] * 3  # the clock has shown them
    run_due(10)
    assert Article.objects.filter(status=Status.PUBLISHED).count() == 3
    assert kinds_of() == [Kind.PUBLISHED] * 3
    for event in Event.objects.all():
        article = Article.objects.get(pk=event.object_id)
        assert article.publish_at
        assert event.planned_at == article.publish_at < event.happened_at


def test_an_update_that_is_due_has_the_instant_at_which_readers_saw_it(alice: User) -> None:
    article = make_article(status=APPROVED)
    publishing.publish_now(article, by=alice)
    article = with_update(article, alice, correction="It was wrong.")
    at = soon(seconds=-3)
    Update.objects.filter(article=article).update(publish_at=at, updated_at=soon(seconds=-9))
    with transaction.atomic():
        publishing.update_due([article.pk])
    assert kinds_of() == [Kind.PUBLISHED, Kind.CORRECTED]
    event = Event.objects.get(kind=Kind.CORRECTED)
    assert (event.planned_at, event.happened_at, event.revision) == (at, at, 2)


def test_a_release_that_is_stored_late_has_the_instant_at_which_readers_saw_it(alice: User) -> None:
    new, old = make_article("New", status=APPROVED), make_article(status=Status.PUBLISHED, publish_at=soon(hours=-3))
    release = make_release(new, by=alice)
    releases.add_member(release, article=old, action="unpublish", by=alice)
    releases.schedule_release(release, publish_at=soon(hours=1), by=alice)
    kinds_of()
    at = soon(minutes=-10)
    Release.objects.update(publish_at=at, updated_at=soon(hours=-1))
    with transaction.atomic():
        releases.release_due(release.pk, until=time.monotonic() + 10)
    assert kinds_of()[-3:] == [Kind.PUBLISHED, Kind.UNPUBLISHED, Kind.RELEASE_PUBLISHED]
    newest = Event.objects.order_by("-seq").values_list("planned_at", "happened_at")[:3]
    assert set(newest) == {(at, at)}


def test_what_a_person_does_at_once_has_no_planned_time_of_before(alice: User) -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-3))
    kinds_of()
    publishing.publish_update(with_update(article, alice), by=alice)
    publishing.unpublish(Article.objects.get(), by=alice)
    publishing.republish(Article.objects.get(), by=alice)
    publishing.retract(Article.objects.get(), by=alice, notice="No.")
    planned = {event.kind: event.planned_at for event in Event.objects.exclude(kind=Kind.PUBLISHED)}
    assert planned == dict.fromkeys([Kind.UPDATED, Kind.UNPUBLISHED, Kind.REPUBLISHED, Kind.RETRACTED])


def test_a_new_text_of_what_readers_do_not_see_is_no_event(alice: User) -> None:
    article = make_article(status=APPROVED)
    publishing.edit(article, by=alice, changes={"title": "Another"})
    publishing.schedule_update(article, publish_at=soon(hours=1), by=alice)
    publishing.submit(article, by=alice)
    number = article.revisions.latest("number").number
    publishing.approve(article, by=make_editor("bob"), revision=number)
    Update.objects.filter(article=article).update(publish_at=soon(seconds=-3), updated_at=soon(seconds=-9))
    with transaction.atomic():
        publishing.update_due([article.pk])
    assert AuditEntry.objects.filter(action="updated").exists()
    assert kinds_of() == []
    publishing.publish_now(Article.objects.get(), by=alice)
    assert kinds_of() == [Kind.PUBLISHED]


def test_an_instant_that_only_the_clock_has_shown_has_one_event_however_late_the_worker_is(alice: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(days=1))
    assert kinds_of() == [Kind.SCHEDULED]
    at = read_database_clock()
    move_times(article, publish_at=at)
    assert kinds_of() == [Kind.SCHEDULED, Kind.PUBLISHED]
    publishing.publish_due([article.pk])
    assert kinds_of() == [Kind.SCHEDULED, Kind.PUBLISHED]
    assert Event.objects.get(kind=Kind.PUBLISHED).planned_at == at


def test_a_publication_that_is_dated_later_has_one_event(alice: User) -> None:
    """Dating by the commit changes the instant of what the clock has shown before."""
    article = make_article(status=APPROVED, publish_at=soon(seconds=-5))
    assert kinds_of() == [Kind.PUBLISHED]
    Article.objects.filter(pk=article.pk).update(cleared_at=soon(seconds=-1))
    publishing.publish_due([article.pk])
    assert Event.objects.unnumbered().count() == 1
    assert kinds_of() == [Kind.PUBLISHED]


def test_an_end_that_is_moved_after_it_passed_has_one_event() -> None:
    """What a worker stores differs from what the clock has shown before."""
    article = make_article(status=Status.PUBLISHED, publish_at=soon(seconds=-9))
    assert kinds_of() == [Kind.PUBLISHED]
    Article.objects.update(unpublish_at=soon(seconds=-5))
    assert kinds_of() == [Kind.PUBLISHED, Kind.UNPUBLISHED]
    Article.objects.update(unpublish_at=soon(seconds=-1))
    publishing.unpublish_due([article.pk])
    assert Event.objects.unnumbered().count() == 1
    assert kinds_of() == [Kind.PUBLISHED, Kind.UNPUBLISHED]


def test_what_other_programs_change_has_events_as_well() -> None:
    article = make_article(status=APPROVED, publish_at=soon(seconds=-5))
    for values in ({}, {"title": "New"}, {"status": Status.UNPUBLISHED}, {"status": Status.PUBLISHED}):
        Article.objects.filter(pk=article.pk).update(**values)
        catch_up()
    article.delete()
    expected = [Kind.PUBLISHED, Kind.UPDATED, Kind.UNPUBLISHED, Kind.REPUBLISHED, Kind.UNPUBLISHED]
    assert kinds_of() == expected
    assert Event.objects.in_feed().get().state == Event.State.DELETED


def test_a_release_and_its_members_have_events_and_are_rolled_back(alice: User) -> None:
    new, old, gone = make_article("New", status=APPROVED), make_article("Old", status=APPROVED), make_article("Gone")
    for article in (old, gone):
        Article.objects.filter(pk=article.pk).update(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    kinds_of()
    release = make_release(new, with_update(Article.objects.get(pk=old.pk), alice, "It was wrong."), by=alice)
    releases.add_member(release, article=Article.objects.get(pk=gone.pk), action="unpublish", by=alice)
    releases.publish_release_now(release, by=alice)
    assert kinds_of(payload={"release": release.pk}) == [Kind.PUBLISHED, Kind.CORRECTED, Kind.UNPUBLISHED]
    releases.roll_back_release(Release.objects.get(), by=alice)
    of_release = Event.objects.filter(kind__startswith="release.").order_by("seq")
    assert of_article(new)[-1] == Kind.UNPUBLISHED
    assert of_article(gone)[-1] == Kind.REPUBLISHED
    assert of_article(old)[-1] == Kind.UPDATED
    assert [event.kind for event in of_release] == [Kind.RELEASE_PUBLISHED, Kind.RELEASE_ROLLED_BACK]


def test_each_version_of_a_front_has_one_event_when_readers_get_it() -> None:
    """By the clock, and also where its transaction ended after a later look."""
    FeedHead.objects.update_or_create(pk=1, defaults={"looked_at": soon()})  # tests before this one may have left none
    make_front(make_article(status=APPROVED, publish_at=soon(hours=-2)), live_from=soon(minutes=-1))
    make_front(live_from=soon(hours=1))
    late = make_front(live_from=soon(days=-3))
    catch_up()
    catch_up()

    (event,) = Event.objects.filter(kind=Event.Kind.FRONT_LIVE)
    assert (event.object_id, event.revision, event.seq is not None) == (late.front_id, 1, True)
    assert event.planned_at == event.happened_at
    assert event.payload == {"front": "en", "url": "/en/"}


def test_the_same_event_is_written_once() -> None:
    at, values = soon(), {"object_id": 1, "kind": Kind.PUBLISHED, "revision": 1}
    Event.objects.create(**values, happened_at=at)
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"), transaction.atomic():
        Event.objects.create(**values, happened_at=at)


def follow(stop: Callable[[], bool]) -> list[tuple[int, int]]:
    """What a program gets that keeps the last number: number and object of each event."""
    last = 0
    heard: list[tuple[int, int]] = []
    while True:
        is_last = stop()
        catch_up()
        for event in Event.objects.filter(seq__gt=last).order_by("seq"):
            last = event.seq or 0
            heard.append((last, event.object_id))
        if is_last:
            return heard


@pytest.mark.django_db(transaction=True)
def test_a_follower_that_keeps_the_last_number_misses_nothing_of_eight_writers() -> None:
    """A third of the transactions is rolled back, and they end in another order than that of their ids."""
    writers, each, ended = 8, 40, threading.Event()

    def write(writer: int) -> int:
        for number in range(each):
            first = writer * 1000 + number * 2
            try:
                with transaction.atomic():
                    write_events([NewEvent(Kind.FRONT_LIVE, first)])
                    connection.cursor().execute("SELECT COUNT(*) FROM articles_event")  # lets others run
                    write_events([NewEvent(Kind.FRONT_LIVE, first + 1)])
                    if number % 3 == 0:
                        raise RuntimeError
            except RuntimeError:
                pass
        return writer

    def write_all() -> int:
        outcomes = together(*(lambda writer=writer: write(writer) for writer in range(writers)))
        ended.set()
        assert outcomes == list(range(writers))
        return len(outcomes)

    heard, written = together(lambda: follow(ended.is_set), write_all)
    assert written == writers, written
    numbers, objects = [seq for seq, _pk in heard], [pk for _seq, pk in heard]
    assert numbers == list(range(1, len(numbers) + 1))
    assert sorted(objects) == sorted(Event.objects.values_list("object_id", flat=True))
    assert len(objects) == writers * sum(2 for number in range(each) if number % 3)
    assert FeedHead.objects.get().sequence == numbers[-1]
