"""What happens to a webhook at the same time, or to its channels: it never hears of more than was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from articles.distribution import catch_up
from articles.exceptions import NotAllowed
from articles.models import Article, AuditEntry, Channel, Delivery, Endpoint
from articles.webhooks import delete_endpoint, save_endpoint, set_enabled
from articles.webhooks.dispatch import serve, take
from scheduling.database import lock_by_ids
from scheduling.registry import Ending
from tests.articles.desk.test_at_once import desk, while_it_waits
from tests.articles.factories import APPROVED, make_article, make_channel, make_user, soon
from tests.articles.webhooks.receivers import Receiver, drain, make_endpoint, receiving
from tests.articles.webhooks.test_dispatch import published

pytestmark = pytest.mark.django_db(transaction=True)

API = "/api/v1/desk/webhooks/"
URL = "https://example.com/"


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving(settings) as one:
        yield one


@pytest.fixture
def boss() -> User:
    return make_user("boss", is_superuser=True)


@pytest.fixture
def olga() -> User:
    """She may not let a webhook hear of what is not out."""
    return make_user("olga", "manage_webhooks")


@pytest.fixture
def sport() -> Channel:
    return make_channel("Sport", slug="sport")


@pytest.fixture
def arts() -> Channel:
    return make_channel("Arts", slug="arts")


@pytest.fixture
def _row_locks() -> None:
    if not connection.features.has_select_for_update:
        pytest.skip("SQLite has no row locks")


def test_both_channels_of_a_webhook_are_deleted_from_the_list(
    receiver: Receiver, boss: User, sport: Channel, arts: Channel
) -> None:
    endpoint = make_endpoint(receiver.url, hears_newsroom=True)
    endpoint.channels.add(sport, arts)
    sent = {"action": "delete_selected", "_selected_action": [sport.pk, arts.pk], "post": "yes"}
    desk(boss).post("/admin/articles/channel/", sent, follow=True)
    assert not Channel.objects.filter(pk__in=[sport.pk, arts.pk]).exists()
    make_article("Secret", status=APPROVED, publish_at=soon(hours=2))
    published("Other")
    drain()
    endpoint.refresh_from_db()
    assert (endpoint.enabled, endpoint.paused_because, receiver.requests) == (False, "channel", [])


@pytest.mark.usefixtures("_row_locks")
def test_two_users_each_delete_a_channel_of_a_webhook(sport: Channel, arts: Channel) -> None:
    endpoint = make_endpoint(URL)
    endpoint.channels.add(sport, arts)
    while_it_waits(sport.delete, arts.delete)
    endpoint.refresh_from_db()
    assert (endpoint.enabled, endpoint.channels.count()) == (False, 0)


@pytest.mark.usefixtures("_row_locks")
def test_a_channel_is_deleted_while_a_webhook_chooses_it(boss: User, sport: Channel, arts: Channel) -> None:
    endpoint = make_endpoint(URL, hears_newsroom=True)
    endpoint.channels.add(arts)
    client, address = desk(boss), f"{API}{endpoint.pk}/"
    answer = while_it_waits(
        lambda: Channel.objects.get(pk=sport.pk).delete(),
        lambda: client.patch(address, {"channels": ["sport"]}, content_type="application/json"),
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "no_such_channel")
    assert list(endpoint.channels.all()) == [arts]


@pytest.mark.usefixtures("_row_locks")
def test_a_webhook_chooses_a_channel_while_it_is_deleted(boss: User, sport: Channel) -> None:
    endpoint, client = make_endpoint(URL), desk(boss)

    def choose() -> None:
        row = lock_by_ids(Endpoint, [endpoint.pk]).get()
        save_endpoint(row, channels=[sport], by=boss)
        row.channels.set([sport])

    answer = while_it_waits(
        choose, lambda: client.post(f"/admin/articles/channel/{sport.pk}/delete/", {"post": "yes"}, follow=True)
    )
    endpoint.refresh_from_db()
    assert (answer.status_code, endpoint.enabled) == (200, False)


def test_who_may_not_send_schedules_resumes_no_webhook_whose_channels_are_gone(
    boss: User, olga: User, sport: Channel, arts: Channel
) -> None:
    endpoint = make_endpoint(URL, hears_newsroom=True)
    endpoint.channels.add(sport)
    sport.delete()
    set_enabled(endpoint, False, by=olga)  # which does not let it be forgotten
    with pytest.raises(NotAllowed):
        set_enabled(endpoint, True, by=olga)
    sent = {"channels": ["arts"], "enabled": True}
    assert desk(olga).patch(f"{API}{endpoint.pk}/", sent, content_type="application/json").status_code == 403
    assert not Endpoint.objects.get().enabled
    assert desk(boss).patch(f"{API}{endpoint.pk}/", sent, content_type="application/json").status_code == 200
    set_enabled(endpoint, False, by=olga)
    set_enabled(endpoint, True, by=olga)


@pytest.mark.usefixtures("_row_locks")
@pytest.mark.parametrize("act", ["replay", "delete"])
def test_what_was_deleted_at_the_same_time_is_said_to_be_gone(receiver: Receiver, boss: User, act: str) -> None:
    endpoint, kim, client = make_endpoint(receiver.url), make_user("kim", "manage_webhooks"), desk(boss)
    published()
    drain()
    address, (delivery,) = f"/admin/articles/endpoint/{endpoint.pk}/", Delivery.objects.all()
    posts: dict[str, Callable[[], Any]] = {
        "replay": lambda: client.post(f"{address}replay/", {"delivery": delivery.pk}, follow=True),
        "delete": lambda: client.post(f"{address}delete/", {"post": "yes"}, follow=True),
    }
    answer = while_it_waits(lambda: delete_endpoint(Endpoint.objects.get(), by=kim), posts[act])
    assert answer.status_code == 200
    assert ("It does not exist any more." in answer.text) == (act == "replay")
    changes = AuditEntry.objects.filter(action__contains="webhook")
    assert list(changes.values_list("action", "user_name")) == [("delete_webhook", "kim")]


@pytest.mark.parametrize("code", [410, 429])
def test_nothing_more_is_sent_once_a_receiver_has_asked_for_a_pause(receiver: Receiver, code: int) -> None:
    make_endpoint(receiver.url)
    for number in range(100):
        published(f"Ferry {number}")

    def answer(handler: Any) -> None:
        handler.send_response(200 if len(receiver.requests) <= 60 else code)
        handler.send_header("Retry-After", "3600")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    receiver.answer = answer
    drain()
    assert 60 < len(receiver.requests) <= 60 + 8, "as many as were on their way"


def test_a_secret_is_not_stored_with_the_key_of_a_request(boss: User) -> None:
    endpoint, client = make_endpoint(URL), desk(boss)
    rotate, replay = (f"{API}{endpoint.pk}/{name}/" for name in ("rotate-secret", "replay"))

    def post(client: Client, address: str, sent: Any) -> int:
        headers = {"Idempotency-Key": "once"}
        return client.post(address, sent, content_type="application/json", headers=headers).status_code

    assert post(client, rotate, {}) == post(client, API, {"url": URL}) == 400
    assert post(client, replay, {"deliveries": [1]}) == 202


@pytest.mark.usefixtures("_row_locks")
def test_a_webhook_that_loses_its_channels_is_given_nothing_more(receiver: Receiver, sport: Channel) -> None:
    endpoint = make_endpoint(receiver.url, hears_newsroom=True)
    endpoint.channels.add(sport)
    for number in range(9):
        make_article(f"Secret {number}", status=APPROVED, publish_at=soon(hours=2))
    catch_up()
    leased = take(endpoint.pk)
    assert leased is not None
    while_it_waits(sport.delete, lambda: serve(leased, Ending()))
    assert (receiver.requests, Delivery.objects.count()) == ([], 0)


def test_a_webhook_without_its_channels_replays_nothing(
    receiver: Receiver, boss: User, olga: User, sport: Channel, arts: Channel
) -> None:
    endpoint = make_endpoint(receiver.url, hears_newsroom=True)
    endpoint.channels.add(sport)
    make_article("Secret", status=APPROVED, channel=make_channel("Other"), publish_at=soon(hours=2))
    drain()
    sport.delete()
    sent = {"since": soon(hours=-1).isoformat()}
    answer = desk(olga).post(f"{API}{endpoint.pk}/replay/", sent, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (400, "webhook_paused")
    resumed = {"channels": ["arts"], "enabled": True}
    desk(boss).patch(f"{API}{endpoint.pk}/", resumed, content_type="application/json")
    drain()
    assert receiver.requests == []


def test_why_a_webhook_is_paused_survives_a_late_answer(
    receiver: Receiver, olga: User, sport: Channel, arts: Channel
) -> None:
    endpoint = make_endpoint(receiver.url, hears_newsroom=True)
    endpoint.channels.add(sport)
    article = make_article("Plan", status=APPROVED, channel=sport, publish_at=soon(hours=2))

    def answer(handler: Any) -> None:
        Article.objects.filter(pk=article.pk).update(channel=arts)
        Channel.objects.get(pk=sport.pk).delete()
        connection.close()
        handler.send_response(410)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    receiver.answer = answer
    drain()
    endpoint.refresh_from_db()
    assert (len(receiver.requests), endpoint.paused_because) == (1, "channel")
    with pytest.raises(NotAllowed):
        set_enabled(endpoint, True, by=olga)


def test_why_a_webhook_is_paused_survives_another_url(
    receiver: Receiver, boss: User, olga: User, sport: Channel
) -> None:
    endpoint = make_endpoint(URL, hears_newsroom=True)
    endpoint.channels.add(sport)
    sport.delete()
    sent = {"url": receiver.url}
    assert desk(boss).patch(f"{API}{endpoint.pk}/", sent, content_type="application/json").status_code == 200
    with pytest.raises(NotAllowed):
        set_enabled(endpoint, True, by=olga)


def test_a_plan_that_waits_is_not_sent_to_a_webhook_that_no_longer_hears_of_plans(
    receiver: Receiver, boss: User
) -> None:
    endpoint = make_endpoint(receiver.url, hears_newsroom=True)
    receiver.answer = 503
    make_article("Secret", status=APPROVED, publish_at=soon(hours=2))
    drain()
    receiver.requests.clear()
    receiver.answer = 200
    sent = {"kinds": ["article.published"]}
    assert desk(boss).patch(f"{API}{endpoint.pk}/", sent, content_type="application/json").status_code == 200
    Delivery.objects.update(due_at=soon())
    drain()
    assert (receiver.requests, Delivery.objects.get().state) == ([], Delivery.State.DROPPED)
