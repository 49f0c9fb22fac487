"""Webhooks whose receiver is away for minutes of real time, with real workers, for `make chaos`."""

from __future__ import annotations

import os
import random
import time
from typing import Any

import pytest

from articles.models import PUBLIC_KINDS, Article, Delivery, Event
from tests.articles.factories import APPROVED, make_article, soon
from tests.articles.webhooks.outages import Newsroom, retracted
from tests.articles.webhooks.receivers import Receiver, make_endpoint, receiving
from tests.chaos.proof import say
from tests.conftest import StartManage
from tests.harness import eventually, free_port

pytestmark = pytest.mark.django_db(transaction=True)


def all_delivered() -> bool:
    """Also of the articles whose time has come."""
    due = Article.objects.filter(status=APPROVED, publish_at__lte=soon(hours=1)).exists()
    written = Event.objects.filter(kind__in=PUBLIC_KINDS).count()
    delivered = Delivery.objects.filter(state=Delivery.State.DELIVERED).count()
    return not due and not Event.objects.unnumbered().exists() and delivered == written > 0


@pytest.mark.chaos
def test_a_receiver_that_was_away_for_minutes_gets_each_event_once_and_in_order(
    settings: Any, start_manage: StartManage
) -> None:
    seconds, seed = float(os.environ.get("AWAY_SECONDS") or 300), random.randrange(10**6)
    say(f"\nThe receiver of webhooks is away for {seconds:.0f} s, seed {seed}")
    newsroom, port = Newsroom(seed), free_port()
    make_endpoint(f"http://127.0.0.1:{port}/hook")
    for _worker in range(2):
        start_manage("poll", "--forever", env={"WEBHOOK_ALLOWED_HOSTS": f"127.0.0.1:{port}"})
    with receiving(settings, port=port) as before:
        newsroom.work()
        eventually(all_delivered)
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        newsroom.work()
        make_article("Scheduled", status=APPROVED, publish_at=soon(seconds=2))
        time.sleep(3)
    gone = retracted() - {body["data"]["object"] for body in before.bodies}
    waiting = Delivery.objects.pending().count()
    with receiving(settings, port=port) as after:
        back = time.monotonic()
        newsroom.work()
        eventually(all_delivered)
        took = time.monotonic() - back
    came = Receiver(requests=[*before.requests, *after.requests])
    count = newsroom.check(came, gone)
    say(f"{count} events, each received once; {waiting} waited, and took {took:.1f} s; {len(gone)} were retracted")
