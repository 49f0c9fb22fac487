"""The rate limit by address: each request counts once, whatever else is cached."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.cache import caches
from django.core.wsgi import get_wsgi_application
from django.test import RequestFactory
from rest_framework.test import APIClient, APIRequestFactory
from rest_framework.views import APIView

from articles.cache import CacheMiddleware
from headline.api.throttling import AddressThrottle
from headline.api.tokens import issue
from headline.api.wire import ApiMiddleware
from tests.articles.factories import make_editor
from tests.harness import eventually, free_port
from tests.headline.test_api_wire import ask, sent_by

pytestmark = pytest.mark.django_db

URL = "/api/v1/articles/"


@pytest.fixture(autouse=True)
def _ten_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AddressThrottle, "rate", "10/min", raising=False)
    monkeypatch.setattr("headline.api.throttling.time.monotonic", lambda: 600.0)


def request() -> Any:
    return APIView().initialize_request(APIRequestFactory().get(URL))


def test_of_forty_parallel_requests_ten_pass() -> None:
    ready = threading.Barrier(40)

    def ask(_number: int) -> bool:
        asked, throttle = request(), AddressThrottle()
        ready.wait()
        return throttle.allow_request(asked, APIView())

    with ThreadPoolExecutor(40) as threads:
        assert list(threads.map(ask, range(40))).count(True) == 10


def test_other_cache_entries_evict_no_counter() -> None:
    for _number in range(10):
        assert AddressThrottle().allow_request(request(), APIView())
    for alias in ("default", "responses"):
        for number in range(1000):
            caches[alias].set(f"page-{number}", "text")
    for number in range(1000):
        caches["throttles"].set(f"another-address-{number}", 1)
    assert not AddressThrottle().allow_request(request(), APIView())


def test_it_holds_while_redis_is_away(settings: Any) -> None:
    away = f"redis://127.0.0.1:{free_port()}/0"
    settings.SCHEDULING_REDIS_URL = away
    settings.CACHES = {
        **settings.CACHES,
        "responses": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": away},
    }
    statuses = [APIClient().get(f"{URL}?page_size={size}").status_code for size in range(1, 13)]
    assert statuses == [200] * 10 + [429] * 2


def test_the_next_window_starts_at_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    for _number in range(10):
        AddressThrottle().allow_request(request(), APIView())
    throttle = AddressThrottle()
    assert not throttle.allow_request(request(), APIView())
    assert 0 < throttle.wait() <= 60
    monkeypatch.setattr("headline.api.throttling.time.monotonic", lambda: 660.0)
    assert AddressThrottle().allow_request(request(), APIView())


def test_each_address_has_its_own_count_and_a_network_of_ipv6_one() -> None:
    def ask(address: str) -> bool:
        asked = APIView().initialize_request(APIRequestFactory().get(URL, REMOTE_ADDR=address))
        return AddressThrottle().allow_request(asked, APIView())

    assert [ask("192.0.2.1") for _number in range(11)] == [True] * 10 + [False]
    assert ask("192.0.2.2")
    assert [ask(f"2001:db8::{number}") for number in range(11)] == [True] * 10 + [False]


def test_counted_responses_say_what_is_left() -> None:
    first = ask(URL, ACCEPT="application/problem+json", ORIGIN="https://app.example.org")
    assert first[1]["RateLimit-Policy"] == '"address";q=10;w=60'
    assert first[1]["RateLimit"] == '"address";r=9;t=60'
    for _number in range(10):
        status, headers, _body = ask(URL)
    assert (status, headers["RateLimit"], headers["Retry-After"]) == (429, '"address";r=0;t=60', "60")
    exposed = ask(URL, "*", ORIGIN="https://app.example.org")[1]["Access-Control-Expose-Headers"]
    assert {"RateLimit", "RateLimit-Policy"} <= {*exposed.split(", ")}


def test_a_signed_in_user_has_no_limit() -> None:
    token = issue(make_editor(), by=make_editor("bob"), name="x")[1]
    assert "RateLimit" not in ask("/api/v1/desk/me/", AUTHORIZATION=f"Bearer {token}")[1]


@pytest.mark.django_db(transaction=True)
def test_a_copy_has_no_limit() -> None:
    """Copies end after a time, so on a busy machine a request may be counted again."""
    wire = ApiMiddleware(CacheMiddleware(get_wsgi_application()), ())

    def limit() -> str | None:
        return sent_by(wire, RequestFactory().get(f"{URL}?page_size=9").environ)[1].get("RateLimit")

    assert limit() == '"address";r=9;t=60'
    assert eventually(lambda: limit() is None)
    limits = [limit() for _number in range(5)]
    assert len({one for one in limits if one}) == len([one for one in limits if one]), "each counts for itself"
