"""Looking articles up: by id, slug, address and external id, in an order, with the fields that are needed."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from rest_framework.test import APIClient

from articles.models import Article
from tests.articles.factories import APPROVED, make_article, make_editor, make_release, soon

URL = "/api/v1/desk/articles/"
Status = Article.Status

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor() -> User:
    return make_editor()


@pytest.fixture
def desk(editor: User) -> APIClient:
    client = APIClient()
    client.force_login(editor)
    return client


def found(desk: APIClient, **query: Any) -> list[int]:
    response = desk.get(URL, query)
    assert response.status_code == 200, response.content
    return [row["id"] for row in response.json()["results"]]


def test_articles_are_found_by_whatever_names_them(desk: APIClient) -> None:
    first, second, third = (make_article(title, slug=title.lower()) for title in ("One", "Two", "Three"))
    Article.objects.filter(pk=second.pk).update(external_id="https://example.org/?p=2")
    assert found(desk, ids=f"{first.pk},{third.pk},987654321") == [third.pk, first.pk]
    assert found(desk, slug="two") == found(desk, external_id="https://example.org/?p=2") == [second.pk]
    assert found(desk, address=f"https://news.example.org/article/{third.pk}/a-former-slug/?utm=1") == [third.pk]
    assert found(desk, address="https://example.org/about/") == []
    for wrong in ({"ids": "1,x"}, {"ids": ""}, {"ids": ",".join(map(str, range(1, 200)))}, {"ordering": "body"}):
        assert desk.get(URL, wrong).status_code == 400


def test_statuses_are_words_or_numbers(desk: APIClient, editor: User) -> None:
    draft, approved = make_article(), make_article(status=APPROVED)
    assert found(desk, status="approved") == found(desk, status=APPROVED.value) == [approved.pk]
    assert found(desk, status=["Approved", 0]) == [approved.pk, draft.pk]
    assert desk.get(f"{URL}{approved.pk}/").json()["status_name"] == "approved"
    assert desk.get(URL, {"status": "gone"}).status_code == 400
    make_release(by=editor)
    releases = [desk.get("/api/v1/desk/releases/", {"status": one}).json()["results"] for one in ("draft", "scheduled")]
    assert [len(rows) for rows in releases] == [1, 0]


@pytest.mark.cases(2)
@pytest.mark.parametrize("order", ["id", "-id", "updated_at", "-updated_at", "goes_live_at", "-goes_live_at"])
def test_every_order_is_followed_to_its_end(desk: APIClient, order: str) -> None:
    at = soon(hours=1)
    articles = [make_article(status=APPROVED, publish_at=at) for _number in range(3)]
    ids, address = [], f"{URL}?page_size=1&ordering={order}&fields=id"
    while address:
        page = desk.get(address).json()
        ids += [row["id"] for row in page["results"]]
        address = page["next"]
    assert ids == sorted((article.pk for article in articles), reverse=order.startswith("-"))


def test_fields_are_picked_and_the_version_stays(desk: APIClient) -> None:
    article = make_article()
    whole = desk.get(f"{URL}{article.pk}/")
    picked = desk.get(f"{URL}{article.pk}/?fields=id,title")
    assert picked.json() == {"id": article.pk, "title": article.title}
    assert picked["ETag"] == whole["ETag"]
    assert desk.get(URL, {"fields": "title"}).json()["results"] == [{"title": article.title}]
    assert desk.get("/api/v1/desk/bulk-actions/", {"fields": "x"}).status_code == 400, "of an empty list, too"
    assert desk.get("/api/v1/desk/calendar/", {"fields": "first,entries"}).json().keys() == {"first", "entries"}
    refused = desk.get(URL, {"fields": "title,password"})
    assert (refused.status_code, refused.json()["code"]) == (400, "unknown_field")
    assert "“password”" in refused.json()["fields"][0]
    assert desk.patch(f"{URL}{article.pk}/?fields=id", {"title": "New"}).json()["code"] == "unknown_parameter"
