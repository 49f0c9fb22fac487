"""The screen of webhooks: who may, secrets that are shown once, tests, replays, pauses, and what is recorded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from rest_framework.test import APIClient
from standardwebhooks import Webhook

from articles.models import AuditEntry, Delivery, Endpoint, Event
from articles.roles import Role
from articles.webhooks import manage
from tests.articles.factories import make_channel, make_member, make_user, soon
from tests.articles.open_forms import sent_by
from tests.articles.webhooks.receivers import Receiver, drain, make_endpoint, receiving
from tests.articles.webhooks.test_dispatch import published

pytestmark = pytest.mark.django_db(transaction=True)

ADD, LIST = reverse("admin:articles_endpoint_add"), reverse("admin:articles_endpoint_changelist")


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving(settings) as one:
        yield one


@pytest.fixture
def olga() -> User:
    return make_user("olga", "manage_webhooks")


@pytest.fixture
def client(olga: User) -> Client:
    client = Client()
    client.force_login(olga)
    return client


def at(name: str, endpoint: Endpoint) -> str:
    return reverse(f"admin:articles_endpoint_{name}", args=[endpoint.pk])


def test_a_webhook_is_added_tested_rotated_paused_and_deleted_and_all_is_recorded(
    client: Client, receiver: Receiver, olga: User
) -> None:
    page = client.post(ADD, {"url": receiver.url, "description": "Search", "enabled": "on"})
    endpoint = Endpoint.objects.get()
    assert endpoint.secret in page.content.decode()
    assert endpoint.owner == olga
    change = at("change", endpoint)
    assert endpoint.secret not in client.get(change).content.decode()
    client.post(at("test", endpoint))
    drain()
    assert receiver.kinds == ["webhook.test"]
    page = client.post(at("rotate", endpoint))
    rotated = Endpoint.objects.get()
    assert rotated.secret in page.content.decode()
    assert rotated.old_secret == endpoint.secret
    published()
    drain()
    headers, body = receiver.requests[-1]
    for secret in (endpoint.secret, rotated.secret):
        assert Webhook(secret).verify(body, headers)
    shown = client.get(change).content.decode()
    assert "evt_" not in shown
    assert re.search(r"Article published\s+\d+", shown)
    client.post(at("pause", endpoint), {"enabled": "0"})
    assert not Endpoint.objects.get().enabled
    delete = reverse("admin:articles_endpoint_delete", args=[endpoint.pk])
    with CaptureQueriesContext(connection) as queries:
        assert "Search" in client.get(delete).text
    assert not [query for query in queries if "articles_delivery" in query["sql"]]  # there may be a million
    client.post(delete, {"post": "yes"})
    assert not Endpoint.objects.exists()
    actions = list(AuditEntry.objects.order_by("pk").values_list("action", "article_title"))
    names = ["add_webhook", "test_webhook", "rotate_webhook_secret", "change_webhook", "delete_webhook"]
    assert [one for one in actions if "webhook" in one[0]] == [(name, "Search") for name in names]
    assert not any(endpoint.secret in str(entry.details) for entry in AuditEntry.objects.all())


def test_a_delivery_and_all_since_a_time_are_sent_again_with_the_same_ids(client: Client, receiver: Receiver) -> None:
    endpoint = make_endpoint(receiver.url)
    for number in range(3):
        published(f"No. {number}")
    drain()
    (delivery, *_rest) = Delivery.objects.order_by("pk")
    client.post(at("replay", endpoint), {"delivery": delivery.pk})
    drain()
    assert delivery.event
    assert (len(receiver.requests), receiver.ids[3]) == (4, f"evt_{delivery.event.seq}")
    client.post(at("replay", endpoint), {"since": f"{soon(hours=-1):%Y-%m-%d %H:%M:%S}", "since_zone": "UTC"})
    drain()
    assert len(receiver.requests) == 7
    assert len(set(receiver.ids)) == 3
    client.post(at("replay", endpoint), {"since": "nonsense"})
    drain()
    assert len(receiver.requests) == 7


def test_it_is_said_what_is_sent_later_or_not_yet(
    client: Client, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint, rain = make_endpoint(receiver.url), make_channel("Rain", slug="rain")
    endpoint.channels.add(rain)
    for number in range(3):
        published(f"No. {number}")
    published("Wet", channel=rain)
    drain()
    since = {"since": f"{soon(hours=-1):%Y-%m-%d %H:%M}", "since_zone": "UTC"}  # of a full minute no seconds are shown

    def said(name: str, sent: dict[str, str]) -> str:
        (message,) = client.post(at(name, endpoint), sent, follow=True).context["messages"]
        return str(message)

    assert said("replay", since) == "1 event is sent again."
    monkeypatch.setattr(manage, "MOST_REPLAYED", 1)
    monkeypatch.setattr("articles.desk.webhooks.MOST_REPLAYED", 1)
    assert "These are the first ones" in said("replay", since), "of those that it hears of"
    Endpoint.objects.update(resumes_at=soon(hours=5))
    assert said("test", {}) == "The receiver has asked for a pause; send the test after it."
    Endpoint.objects.update(enabled=False)
    assert "once the webhook goes on" in said("replay", since)
    endpoint.channels.clear()
    Endpoint.objects.update(paused_because="channel")
    refused = client.post(at("replay", endpoint), since, follow=True)
    assert "choose others first" in refused.text
    assert since["since"] in refused.text, "what was typed stays"


def test_a_later_webhook_hears_of_the_past_only_when_it_is_asked_for(client: Client, receiver: Receiver) -> None:
    published()
    client.post(ADD, {"url": receiver.url, "enabled": "on"})
    drain()
    assert receiver.requests == []
    client.post(
        at("replay", Endpoint.objects.get()), {"since": f"{soon(hours=-1):%Y-%m-%d %H:%M:%S}", "since_zone": "UTC"}
    )
    drain()
    assert receiver.kinds == [Event.Kind.PUBLISHED]


def test_a_time_that_is_refused_stays_typed(client: Client) -> None:
    endpoint, typed = (
        make_endpoint("https://example.org/"),
        {"since": "2026-03-29 25:00", "since_zone": "Europe/Berlin"},
    )
    page = client.post(at("replay", endpoint), typed, follow=True).text
    assert 'value="2026-03-29 25:00"' in page and 'value="Europe/Berlin"' in page
    assert "Enter a date and a time" in page


def test_internal_addresses_are_refused_with_an_explanation(client: Client) -> None:
    for url in ("https://127.0.0.1/", "https://169.254.169.254/latest/", "http://example.org/", "https://[::1]/"):
        page = client.post(ADD, {"url": url, "enabled": "on"})
        assert "public addresses" in page.content.decode()
    assert not Endpoint.objects.exists()


def test_what_is_not_out_needs_a_permission_of_its_own(client: Client, receiver: Receiver) -> None:
    client.post(ADD, {"url": receiver.url, "enabled": "on", "hears_newsroom": "on"})
    assert not Endpoint.objects.get().hears_newsroom
    chief = Client()
    chief.force_login(make_member(Role.CHIEF))
    chief.post(at("change", Endpoint.objects.get()), {"url": receiver.url, "enabled": "on", "hears_newsroom": "on"})
    assert Endpoint.objects.get().hears_newsroom
    client.post(at("change", Endpoint.objects.get()), {"url": receiver.url, "enabled": "on", "description": "Search"})
    assert Endpoint.objects.get().hears_newsroom  # who may not give it does not take it


def test_a_second_click_on_rotate_keeps_the_secret_that_the_receiver_knows(client: Client, receiver: Receiver) -> None:
    endpoint = make_endpoint(receiver.url)
    pages = [client.post(at("rotate", endpoint)).content.decode() for _click in range(2)]
    rotated = Endpoint.objects.get()
    assert rotated.old_secret == endpoint.secret
    assert all(rotated.secret in page for page in pages)
    assert AuditEntry.objects.filter(action="rotate_webhook_secret").count() == 1
    Endpoint.objects.update(old_secret_until=F("old_secret_until") - timedelta(minutes=2))
    client.post(at("rotate", endpoint))
    assert Endpoint.objects.get().old_secret == rotated.secret


def test_the_button_pauses_though_it_is_clicked_twice_or_the_receiver_has_gone(client: Client) -> None:
    endpoint = make_endpoint("https://example.org/")
    page = client.get(at("change", endpoint)).content.decode()
    assert re.search(r'name="enabled" value="0">\s*Pause', page)
    for _click in range(2):
        client.post(at("pause", endpoint), {"enabled": "0"})
        assert not Endpoint.objects.get().enabled
    page = client.get(at("change", endpoint)).content.decode()
    assert re.search(r'name="enabled" value="1">\s*Go on', page)
    client.post(at("pause", endpoint), {"enabled": "1"})
    assert Endpoint.objects.get().enabled


def test_a_form_that_was_opened_before_a_pause_does_not_end_it(client: Client) -> None:
    endpoint = make_endpoint("https://example.org/")
    assert 'name="initial-enabled" value="True"' in client.get(at("change", endpoint)).text
    opened = {"url": endpoint.url, "enabled": "on", "initial-enabled": "True"}
    client.post(at("pause", endpoint), {"enabled": "0"})
    client.post(at("change", endpoint), {**opened, "description": "Search"})
    assert Endpoint.objects.values_list("description", "enabled").get() == ("Search", False)
    client.post(at("change", endpoint), {**opened, "initial-enabled": "False"})
    assert Endpoint.objects.get().enabled


def test_a_form_leaves_what_another_has_changed_since_it_was_opened(client: Client) -> None:
    endpoint = make_endpoint("https://example.org/", kinds=[Event.Kind.PUBLISHED], is_full=True)
    endpoint.channels.add(make_channel("Sport", slug="sport"))
    opened = sent_by(client.get(at("change", endpoint)).text, "endpoint_form")
    given = {"url": "https://example.com/", "kinds": [Event.Kind.RETRACTED], "is_full": False}
    Endpoint.objects.update(**given)
    endpoint.channels.set([make_channel()])
    client.post(at("change", endpoint), {**opened, "description": "Search"})
    stored = Endpoint.objects.get()
    assert stored.description == "Search"
    assert {name: getattr(stored, name) for name in given} == given
    assert stored.channels.get().slug == "politics"
    client.post(at("change", endpoint), {**opened, "kinds": []})  # who saw the other kind, and took that away
    assert Endpoint.objects.get().kinds == [Event.Kind.RETRACTED]


@pytest.mark.cases(3)
@pytest.mark.parametrize("role", Role)
def test_chief_and_operators_manage_webhooks(role: Role) -> None:
    client, endpoint = Client(), make_endpoint("https://example.org/")
    client.force_login(make_member(role))
    may = role in (Role.CHIEF, Role.OPERATOR)
    assert client.get(LIST).status_code == (200 if may else 403)
    for name in ("test", "rotate", "pause", "replay"):
        assert (client.post(at(name, endpoint)).status_code == 403) is not may
        assert client.get(at(name, endpoint)).status_code in (403, 405)


def test_the_list_says_which_webhooks_fail(client: Client, receiver: Receiver) -> None:
    make_endpoint(receiver.url, description="Search")
    receiver.answer = 500
    published()
    drain()
    page = client.get(LIST).content.decode()
    assert "Failing" in page
    receiver.answer = 200
    assert "Failing" in client.get(at("change", Endpoint.objects.get())).content.decode()


@pytest.mark.parametrize("is_api", [False, True])
def test_the_list_reads_the_health_of_its_rows_at_once(client: Client, olga: User, is_api: bool) -> None:
    """But the median, of which each webhook has its own deliveries."""
    api = APIClient()
    api.force_authenticate(olga)

    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            answer = api.get("/api/v1/desk/webhooks/") if is_api else client.get(LIST)
            assert "example.org" in answer.text
        return len(queries)

    make_endpoint("https://example.org/")
    statements()
    one = statements()
    for _number in range(5):
        make_endpoint("https://example.org/")
    assert statements() == one + 5
