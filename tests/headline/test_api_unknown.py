"""Every URL below `/api/` returns JSON, also one that does not exist."""

from __future__ import annotations

import pytest
from django.test import Client, override_settings

pytestmark = pytest.mark.django_db


@pytest.mark.cases(12)
@pytest.mark.parametrize("debug", [True, False])
@pytest.mark.parametrize("method", ["get", "head", "post", "patch", "delete", "options"])
@pytest.mark.parametrize(
    "address", ["/api/", "/api/v1/", "/api/v1/articles/first/", "/api/v1/desk/articles/1/fly/", "/api/v2/tasks/x"]
)
def test_an_unknown_url_gets_a_json_response(client: Client, address: str, method: str, debug: bool) -> None:
    with override_settings(DEBUG=debug):
        response = getattr(client, method)(address)
    assert (response.status_code, response["Content-Type"]) == (404, "application/json")
    assert method == "head" or response.json() == {"detail": "There is no such address.", "code": "not_found"}


@pytest.mark.parametrize("debug", [True, False])
def test_a_missing_slash_loses_no_body(debug: bool) -> None:
    client = Client(enforce_csrf_checks=True)
    with override_settings(DEBUG=debug):
        response = client.post("/api/v1/token?x=1", {"username": "alice", "password": "secret"})
    assert response.status_code == 404
    assert response.json() == {
        "detail": "There is no such address; addresses end with a slash: /api/v1/token/?x=1",
        "code": "not_found",
    }


@pytest.mark.parametrize("address", ["/api/docs", "/api/v1/articles?q=tram"])
def test_a_missing_slash_redirects_reads(client: Client, address: str) -> None:
    path, mark, query = address.partition("?")
    response = client.get(address)
    assert (response.status_code, response["Location"]) == (301, f"{path}/{mark}{query}")


def test_the_page_of_the_api_refuses_other_methods(client: Client) -> None:
    assert client.options("/api/docs/").status_code == 405
