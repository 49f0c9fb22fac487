"""Workers that are killed: what receivers got is what was written, and nothing of it early."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from django.db.models import F

from articles import publishing
from articles.models import PUBLIC_KINDS, Article, Delivery, Endpoint, Event, EventQuerySet
from articles.sending import LEASE
from tests.articles.factories import APPROVED, make_article, make_editor, soon
from tests.articles.webhooks.receivers import Receiver, make_endpoint, receiving
from tests.conftest import StartManage
from tests.harness import Process, eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving(settings) as one:
        yield one


def kill(worker: Process) -> None:
    """Without a chance to note or to give back anything."""
    with suppress(AssertionError, ProcessLookupError):
        worker.kill_children()
    worker.kill()


def is_dead(receiver: Receiver, seen: int, workers: list[Process]) -> bool:
    return len(receiver.requests) > seen and not workers


def public() -> EventQuerySet:
    return Event.objects.filter(kind__in=PUBLIC_KINDS)


def all_delivered() -> bool:
    """Also of the article that goes live last."""
    if public().values("object_id").distinct().count() < Article.objects.count():
        return False
    delivered = Delivery.objects.filter(state=Delivery.State.DELIVERED).count()
    return not Event.objects.unnumbered().exists() and delivered == public().count() > 0


def test_receivers_get_what_was_written_though_workers_are_killed_between_all_steps(
    receiver: Receiver, start_manage: StartManage
) -> None:
    alice = make_editor()
    env = {"WEBHOOK_ALLOWED_HOSTS": f"127.0.0.1:{receiver.port}"}
    make_endpoint(receiver.url)
    # Committed, and no worker lives to send it.
    publishing.publish_now(make_article("Before", status=APPROVED), by=alice)
    for number in range(3):
        make_article(f"No. {number}", status=APPROVED, publish_at=soon(seconds=1))
        workers = [start_manage("poll", "--forever", env=env)]

        def die(_handler: Any, workers: list[Process] = workers) -> None:
            """Sent, and its sender does not live to note it."""
            if workers:
                kill(workers.pop())

        receiver.answer, seen = die, len(receiver.requests)
        eventually(partial(is_dead, receiver, seen, workers))
        publishing.publish_now(make_article(f"After no. {number}", status=APPROVED), by=alice)
        Endpoint.objects.update(leased_until=F("leased_until") - LEASE)  # as if time had passed
        Delivery.objects.update(due_at=F("due_at") - LEASE)
    receiver.answer = 200
    start_manage("poll", "--forever", env=env)
    eventually(all_delivered)
    numbers = {f"evt_{event.seq}" for event in public()}
    assert set(receiver.ids) == numbers
    assert len(receiver.ids) > len(numbers)  # at least once: those that were not noted came again
    assert {body["data"]["object"] for body in receiver.bodies} == set(Article.objects.values_list("pk", flat=True))
    for (headers, _body), body in zip(receiver.requests, receiver.bodies, strict=True):
        article = Article.objects.get(pk=body["data"]["object"])
        assert article.goes_live_at
        sent_at = datetime.fromtimestamp(int(headers["webhook-timestamp"]) + 1, tz=article.goes_live_at.tzinfo)
        assert sent_at >= article.goes_live_at
