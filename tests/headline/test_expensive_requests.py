"""While searches, comparisons and uploads run, further ones are refused, and everything else is answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import get_resolver, resolve
from pytest_django import Settings

from headline.expensive_requests import _COMPARISONS, _IMAGES, EACH, is_expensive
from tests.articles.factories import make_user

pytestmark = pytest.mark.django_db(transaction=True)

IMAGE = "00000000-0000-4000-8000-000000000000"
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


def test_all_clients_together_have_few_and_everything_else_is_answered(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
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
    assert "django.request" not in {record.name for record in caplog.records}  # or each refusal would be a line


def test_a_request_that_fails_gives_its_slot_back(settings: Settings) -> None:
    settings.EXPENSIVE_REQUESTS = 1

    def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError):
        while_running(SEARCH, fail)
    assert get(SEARCH).status_code == 200


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/search/?q=a", True),
        ("/admin/search/?s=a", True),
        ("/admin/articles/article/?q=a", True),
        ("/api/v1/desk/articles/?search=a", True),
        ("/admin/articles/article/1/revisions/2/", True),
        ("/api/v1/desk/articles/1/revisions/2/diff/", True),
        ("/search/", False),
        ("/article/1/ships/?s=20", False),  # as some networks add it to what is shared, perhaps ten thousand times
        ("/?q=a", False),
        ("/feed/?search=a", False),
        ("/admin/articles/article/", False),
        ("/admin/articles/image/add/", False),  # the form, not what it sends
    ],
)
def test_what_is_expensive(path: str, expected: bool, rf: RequestFactory) -> None:  # noqa: FBT001
    request = rf.get(path)
    request.resolver_match = resolve(request.path_info)
    assert is_expensive(request) is expected


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/admin/articles/image/add/"),
        ("POST", f"/admin/articles/image/{IMAGE}/change/"),
        ("POST", f"/admin/articles/image/{IMAGE}/focus/"),
        ("PATCH", f"/api/v1/desk/images/{IMAGE}/"),
        ("POST", "/admin/desk/proposed-changes/1/approve/"),
        ("POST", "/api/v1/desk/proposed-changes/1/approve/"),
    ],
)
def test_what_decodes_an_image_is_expensive(method: str, path: str, rf: RequestFactory) -> None:
    """Also a new focal point."""
    request = rf.generic(method, path)
    request.resolver_match = resolve(path)
    assert is_expensive(request)


def test_the_addresses_that_are_named_exist() -> None:
    admin = get_resolver().namespace_dict["admin"][1]
    own = {name.removeprefix("admin:") for name in _COMPARISONS | _IMAGES if name.startswith("admin:")}
    others = {name for name in _COMPARISONS | _IMAGES if ":" not in name}
    assert own <= {str(key) for key in admin.reverse_dict}
    assert others <= {str(key) for key in get_resolver().reverse_dict}
