"""A receiver that was away for an hour gets all that was written, in order, and nothing that is not true any more."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from articles import publishing
from articles.models import Delivery, Endpoint
from tests.articles.factories import APPROVED, make_article, make_editor
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


def test_a_receiver_that_is_back_gets_at_once_what_waits_for_a_later_attempt(receiver: Receiver) -> None:
    alice = make_editor()
    make_endpoint(receiver.url)
    article = make_article("Bridge", status=APPROVED)
    publishing.publish_now(article, by=alice)
    receiver.answer = 503
    for _attempt in range(3):
        drain()
        let_pass(6 * MINUTE)  # the next attempt is in half an hour
    publishing.unpublish(article, by=alice)
    drain()
    assert set(receiver.ids) == {"evt_1"}, "the second event does not overtake the first"
    receiver.requests.clear()
    receiver.answer = 200
    publishing.publish_now(make_article("Harbour", status=APPROVED), by=alice)
    drain()
    assert sorted(receiver.ids) == ["evt_1", "evt_2", "evt_3"]
    assert receiver.ids.index("evt_1") < receiver.ids.index("evt_2")


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
