"""A receiver that was away for an hour gets all that was written, in order, and nothing that is not true any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from articles import publishing
from articles.audit import NewEvent, write_events
from articles.distribution import catch_up
from articles.models import Article, Delivery, Endpoint, Event
from articles.webhooks import replay_since, save_endpoint, set_enabled
from tests.articles.factories import APPROVED, make_article, make_editor, make_user, soon
from tests.articles.webhooks.outages import Newsroom, retracted
from tests.articles.webhooks.receivers import Receiver, drain, make_endpoint, receiving
from tests.harness import free_port

pytestmark = pytest.mark.django_db(transaction=True)

MINUTE = timedelta(minutes=1)


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving(settings) as one:
        yield one


def let_pass(span: timedelta) -> None:
    """As if this time had passed."""
    Delivery.objects.update(due_at=F("due_at") - span)
    Endpoint.objects.filter(failing_since__isnull=False).update(failing_since=F("failing_since") - span)


@pytest.mark.thorough
def test_a_receiver_that_was_away_for_an_hour_gets_each_event_once_and_in_order(settings: Any) -> None:
    newsroom, port = Newsroom(seed=1), free_port()
    settings.WEBHOOK_ALLOWED_HOSTS = [f"127.0.0.1:{port}"]
    make_endpoint(f"http://127.0.0.1:{port}/hook")
    for _five_minutes in range(12):
        newsroom.work()
        drain()
        let_pass(5 * MINUTE)
    assert Endpoint.objects.get().failing_since
    assert not Delivery.objects.filter(state=Delivery.State.DELIVERED).exists()
    gone = retracted()
    with receiving(settings, port=port) as receiver:
        newsroom.work()
        let_pass(3 * 60 * MINUTE)  # beyond the pause of the first attempts
        drain()
        assert not Delivery.objects.pending().exists()
        assert newsroom.check(receiver, gone) > 30
    assert gone


def published_while_away(receiver: Receiver, *, by: User) -> Article:
    """An article of which the receiver hears nothing for so long that the next attempt is in half an hour."""
    article = make_article("Bridge", status=APPROVED)
    publishing.publish_now(article, by=by)
    receiver.answer = 503
    for _attempt in range(3):
        drain()
        let_pass(6 * MINUTE)
    return article


def test_a_receiver_that_is_back_gets_at_once_what_waits_for_a_later_attempt(receiver: Receiver) -> None:
    alice = make_editor()
    make_endpoint(receiver.url)
    article = published_while_away(receiver, by=alice)
    publishing.unpublish(article, by=alice)
    drain()
    assert set(receiver.ids) == {"evt_1"}, "the second event does not overtake the first"
    receiver.requests.clear()
    receiver.answer = 200
    publishing.publish_now(make_article("Harbour", status=APPROVED), by=alice)
    drain()
    assert sorted(receiver.ids) == ["evt_1", "evt_2", "evt_3"]
    assert receiver.ids.index("evt_1") < receiver.ids.index("evt_2")


def answer_by(statuses: dict[str, int]) -> Callable[[Any], None]:
    """Answer these events so, and take the others."""

    def answer(handler: Any) -> None:
        handler.send_response(statuses.get(handler.headers["webhook-id"], 200))
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


def test_no_event_overtakes_an_earlier_one_of_its_object_for_which_a_receiver_was_too_busy(receiver: Receiver) -> None:
    alice = make_editor()
    make_endpoint(receiver.url)
    bridge = make_article("Bridge", status=APPROVED)
    receiver.answer = answer_by({"evt_1": 503})
    for article in (bridge, make_article("Harbour", status=APPROVED)):
        publishing.publish_now(article, by=alice)
    drain()
    assert Endpoint.objects.get().failing_since is None, "it has taken one of the two"
    publishing.unpublish(bridge, by=alice)
    drain()
    assert sorted(receiver.ids) == ["evt_1", "evt_2"]
    receiver.answer = 200
    let_pass(MINUTE)
    drain()
    assert receiver.ids[2:] == ["evt_1", "evt_3"]


def test_what_follows_an_event_that_failed_as_its_receiver_came_back_waits_half_an_hour_at_most(
    receiver: Receiver,
) -> None:
    alice = make_editor()
    make_endpoint(receiver.url)
    bridge = make_article("Bridge", status=APPROVED)
    publishing.publish_now(bridge, by=alice)
    receiver.answer = 503
    drain()
    Delivery.objects.update(attempts=6)
    let_pass(MINUTE)
    publishing.publish_now(make_article("Harbour", status=APPROVED), by=alice)
    receiver.answer = answer_by({"evt_1": 503})
    drain()
    publishing.retract(bridge, by=alice, notice="Wrong")
    receiver.answer = 200
    let_pass(31 * MINUTE)
    receiver.requests.clear()
    drain()
    assert receiver.ids == ["evt_1", "evt_3"]
    assert set(receiver.kinds) == {"article.retracted"}


def test_objects_of_two_kinds_with_one_number_do_not_wait_for_each_other(receiver: Receiver) -> None:
    make_endpoint(receiver.url)
    article = make_article("Bridge", status=APPROVED)
    publishing.publish_now(article, by=make_editor())
    receiver.answer = 503
    drain()
    receiver.answer = 200
    write_events([NewEvent(Event.Kind.RELEASE_PUBLISHED, article.pk)])
    drain()
    assert receiver.ids == ["evt_1", "evt_2", "evt_1"]


def test_events_that_are_sent_again_come_in_their_order_though_the_webhook_is_newer(receiver: Receiver) -> None:
    alice = make_editor()
    article = make_article("Bridge", status=APPROVED)
    publishing.publish_now(article, by=alice)
    make_endpoint(receiver.url, position=catch_up().sequence)
    manager = make_user("bob", "manage_webhooks")
    publishing.unpublish(article, by=alice)
    drain()
    for _time in range(2):
        replay_since(Endpoint.objects.get(), soon(hours=-1), by=manager)
        drain()
    assert receiver.ids == ["evt_2", "evt_1", "evt_2", "evt_1", "evt_2"]


def test_what_a_receiver_refuses_keeps_its_pauses_while_others_are_taken(receiver: Receiver) -> None:
    make_endpoint(receiver.url)
    alice = make_editor()
    publishing.publish_now(make_article("Refused", status=APPROVED), by=alice)
    receiver.answer = 500
    drain()
    receiver.answer = 200
    publishing.publish_now(make_article("Taken", status=APPROVED), by=alice)
    drain()
    assert receiver.ids == ["evt_1", "evt_2"]
    assert Delivery.objects.pending().get().attempts == 1


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_moved", [False, True])
def test_what_waits_for_a_later_attempt_is_sent_once_a_person_lets_it_go_on_or_corrects_its_url(
    receiver: Receiver, is_moved: bool
) -> None:
    alice, olga = make_editor(), make_user("olga", "manage_webhooks")
    endpoint = make_endpoint(receiver.url)
    article = published_while_away(receiver, by=alice)
    endpoint.refresh_from_db()
    if is_moved:
        endpoint.url += "&moved"
        save_endpoint(endpoint, by=olga)
    else:
        set_enabled(endpoint, False, by=olga)
        set_enabled(endpoint, True, by=olga)
    publishing.retract(article, by=alice, notice="Invented.")
    receiver.answer = 200
    receiver.requests.clear()
    drain()
    assert receiver.ids == ["evt_1", "evt_2"]
    assert set(receiver.kinds) == {Event.Kind.RETRACTED}
