"""While searches, comparisons and uploads run, further ones are refused, and everything else is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import get_resolver
from pytest_django import Settings

from headline.expensive_requests import _COMPARISONS, _UPLOADS, EACH
from tests.articles.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)

SEARCH = "/search/?q=budget"


def while_running(
    path: str, act: Callable[[], object], *, address: str = "192.0.2.1", client: Client | None = None
) -> Any:
    """The response of a request during whose first statement `act` runs."""
    waiting = [act]

    def run_first(execute: Callable[..., Any], *arguments: Any) -> Any:
        if waiting:
            waiting.pop()()
        return execute(*arguments)

    with connection.execute_wrapper(run_first):
        return get(path, address=address, client=client)


def get(path: str, *, address: str = "192.0.2.1", client: Client | None = None) -> Any:
    return (client or Client()).get(path, REMOTE_ADDR=address)


def test_a_client_has_two_searches_at_once() -> None:
    found = []
    outer = while_running(
        SEARCH + "1", lambda: found.append(while_running(SEARCH + "2", lambda: found.append(get(SEARCH))))
    )
    refused, second = found
    assert EACH == 2
    assert (outer.status_code, second.status_code, refused.status_code) == (200, 200, 429)
    assert (refused.headers["Retry-After"], refused.headers["Cache-Control"]) == ("1", "private, no-store")
    assert get(SEARCH).status_code == 200


def test_all_clients_together_have_few_and_everything_else_is_answered(settings: Settings) -> None:
    settings.EXPENSIVE_REQUESTS = 1
    staff = Client()
    staff.force_login(make_user("alice", is_superuser=True))
    found: list[Any] = []

    def ask() -> None:
        found.append(get(SEARCH, address="198.51.100.7"))
        found.append(get("/api/v1/articles/?search=budget", address="198.51.100.8"))
        found.extend(get(path) for path in ("/", "/healthz", "/api/v1/articles/"))
        found.append(get("/admin/articles/article/?q=budget", client=staff))

    assert while_running(SEARCH, ask).status_code == 200
    assert [one.status_code for one in found] == [503, 503, 200, 200, 200, 200]
    assert found[1].json()["code"] == "busy"


def test_a_request_that_fails_gives_its_slot_back(settings: Settings) -> None:
    settings.EXPENSIVE_REQUESTS = 1

    def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError):
        while_running(SEARCH, fail)
    assert get(SEARCH).status_code == 200


def test_the_addresses_that_are_named_exist() -> None:
    admin = get_resolver().namespace_dict["admin"][1]
    own = {name.removeprefix("admin:") for name in _COMPARISONS | _UPLOADS if name.startswith("admin:")}
    others = {name for name in _COMPARISONS | _UPLOADS if ":" not in name}
    assert own <= {str(key) for key in admin.reverse_dict}
    assert others <= {str(key) for key in get_resolver().reverse_dict}
