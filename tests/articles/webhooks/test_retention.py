"""Events are kept for some weeks, and longer for webhooks that have not got them."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from articles import publishing
from articles.distribution import catch_up
from articles.models import Delivery, Endpoint, Event, EventSink, FeedHead
from articles.webhooks import prune_events
from tests.articles.factories import APPROVED, make_article, make_editor
from tests.articles.webhooks.receivers import Receiver, drain, make_endpoint, receiving

pytestmark = pytest.mark.django_db(transaction=True)

Kind = Event.Kind


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving(settings) as one:
        yield one


def let_pass(days: int) -> None:
    Event.objects.update(numbered_at=F("numbered_at") - timedelta(days=days))


def test_old_events_go_except_the_last_of_each_article(receiver: Receiver) -> None:
    make_endpoint(receiver.url)
    alice, article = make_editor(), make_article(status=APPROVED)
    publishing.publish_now(article, by=alice)
    publishing.unpublish(article, by=alice)
    publishing.republish(article, by=alice)
    drain()
    let_pass(29)
    prune_events()
    assert Event.objects.count() == Delivery.objects.count() == 3
    let_pass(2)
    prune_events()
    assert list(Event.objects.values_list("kind", flat=True)) == [Kind.REPUBLISHED]
    assert Delivery.objects.count() == 1


def test_what_a_webhook_has_not_got_stays_four_times_as_long(
    receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    make_endpoint(receiver.url)
    make_endpoint(receiver.url, enabled=False)
    alice, article = make_editor(), make_article(status=APPROVED)
    publishing.publish_now(article, by=alice)
    publishing.unpublish(article, by=alice)
    drain()
    let_pass(119)
    prune_events()
    assert Event.objects.count() == 2
    Endpoint.objects.update(enabled=True)
    drain()
    assert len(receiver.requests) == 4
    Endpoint.objects.update(position=0)
    let_pass(2)
    with caplog.at_level(logging.ERROR):
        prune_events()
    problem = json.loads(Client().get("/readyz").content)
    assert "events_lost" in problem["problems"]
    assert problem["events_lost"] == 1
    FeedHead.objects.update(lost_at=F("lost_at") - timedelta(days=7))
    assert "events_lost" not in json.loads(Client().get("/readyz").content)["problems"]
    assert list(Event.objects.values_list("kind", flat=True)) == [Kind.UNPUBLISHED]
    assert "before every webhook got them" in caplog.text


def test_a_sink_that_was_removed_keeps_nothing(settings: Any) -> None:
    EventSink.objects.create(position=0)
    alice, article = make_editor(), make_article(status=APPROVED)
    publishing.publish_now(article, by=alice)
    publishing.unpublish(article, by=alice)
    catch_up()
    let_pass(31)
    settings.EVENTS_SINK = "redis://localhost/"
    prune_events()
    assert Event.objects.count() == 2
    settings.EVENTS_SINK = ""
    prune_events()
    assert Event.objects.count() == 1


def test_nothing_was_lost_of_what_was_only_kept_too_long(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("articles.webhooks.retention._AT_ONCE", 1)  # there is more than a page of old events
    alice, article = make_editor(), make_article(status=APPROVED)
    publishing.publish_now(article, by=alice)
    publishing.unpublish(article, by=alice)
    publishing.republish(article, by=alice)
    catch_up()
    let_pass(130)
    with caplog.at_level(logging.ERROR):
        prune_events()
    assert Event.objects.count() == 2
    assert "before every webhook got them" not in caplog.text
