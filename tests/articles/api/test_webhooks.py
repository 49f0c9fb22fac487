"""The API of webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from articles.models import Delivery, Endpoint
from tests.articles.factories import make_channel, make_user, soon
from tests.articles.webhooks.receivers import Receiver, drain, receiving
from tests.articles.webhooks.test_dispatch import published

pytestmark = pytest.mark.django_db(transaction=True)

URL = "/api/v1/desk/webhooks/"


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    with receiving(settings) as one:
        yield one


@pytest.fixture
def api() -> APIClient:
    client = APIClient()
    client.force_authenticate(make_user("olga", "manage_webhooks"))
    return client


def test_a_webhook_is_managed_by_a_program(api: APIClient, receiver: Receiver) -> None:
    make_channel()
    wanted = {"url": receiver.url, "kinds": ["article.retracted", "article.published"], "channels": ["politics"]}
    made = api.post(URL, wanted, format="json")
    assert made.status_code == 201, made.json()
    webhook = made.json()
    assert webhook["secret"] == Endpoint.objects.get().secret
    assert webhook["kinds"] == ["article.published", "article.retracted"]
    own = f"{URL}{webhook['id']}/"
    assert "secret" not in api.get(own).json()
    assert api.get(own).json()["channels"] == ["politics"]
    assert api.patch(own, {"channels": [], "description": "Search"}, format="json").status_code == 200
    tested = api.post(f"{own}test/")
    assert tested.status_code == 202
    published()
    drain()
    assert sorted(receiver.kinds) == ["article.published", "webhook.test"]
    log = api.get(f"{own}deliveries/").json()["results"]
    assert [(one["event"], one["state"], one["code"]) for one in log] == [
        ("article.published", "delivered", 200),
        (None, "delivered", 200),
    ]
    assert api.get(own).json()["health"]["delivered"] == 2
    assert api.post(f"{own}replay/", {"deliveries": [log[0]["id"]]}, format="json").json() == {"count": 1}
    assert api.post(f"{own}replay/", {"since": soon(hours=-1).isoformat()}, format="json").json() == {"count": 1}
    drain()
    assert len(set(receiver.ids)) == 2
    rotated = api.post(f"{own}rotate-secret/").json()
    assert rotated["secret"] == Endpoint.objects.get().secret != webhook["secret"]
    assert api.patch(own, {"enabled": False}, format="json").json()["enabled"] is False
    assert (api.post(f"{own}test/").status_code, api.delete(own).status_code) == (400, 204)
    assert not Delivery.objects.exists()


def test_what_a_webhook_has_delivered_is_no_reason_to_refuse_a_change(api: APIClient, receiver: Receiver) -> None:
    made = api.post(URL, {"url": receiver.url}, format="json")
    own, version = f"{URL}{made.json()['id']}/", made.headers["ETag"]
    published()
    drain()
    fresh = api.get(own, headers={"if-none-match": version})
    assert (fresh.status_code, fresh.headers["ETag"]) == (200, version)
    assert fresh.json()["health"]["delivered"] == 1
    changed = api.patch(own, {"description": "Search"}, format="json", headers={"if-match": version})
    assert changed.status_code == 200
    refused = api.patch(own, {"description": "Archive"}, format="json", headers={"if-match": version})
    assert (refused.status_code, refused.headers["ETag"]) == (412, changed.headers["ETag"])


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"kinds": ["article.exploded"]}, "kinds"),
        ({"languages": ["xx"]}, "languages"),
        ({"channels": ["none"]}, "channels"),
        ({"unknown": 1}, "unknown"),
    ],
)
def test_what_is_wrong_is_named(api: APIClient, receiver: Receiver, wrong: Any, field: str) -> None:
    answer = api.post(URL, {"url": receiver.url, **wrong}, format="json")
    assert answer.status_code == 400
    assert field in answer.json()


def test_others_may_not(receiver: Receiver) -> None:
    client = APIClient()
    client.force_authenticate(make_user("reader", "view_article", "change_article"))
    assert client.get(URL).status_code == 403
    assert client.post(URL, {"url": receiver.url}, format="json").status_code == 403


def test_a_replay_names_one_thing(api: APIClient, receiver: Receiver) -> None:
    own = f"{URL}{api.post(URL, {'url': receiver.url}, format='json').json()['id']}/replay/"
    for wrong in ({}, {"deliveries": [1], "since": soon().isoformat()}, {"deliveries": list(range(1, 200))}):
        assert api.post(own, wrong, format="json").status_code == 400
