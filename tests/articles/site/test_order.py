"""Readers' lists are in the order in which articles went live, also after an embargo or a late approval.

The lists are those of the URLconf: a new one is tested, or has to be named as something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils.http import urlencode

from articles import publishing
from articles.api.reader_serializers import LiveFilterSerializer
from articles.api.urls import router
from articles.listing.cursor import Cursor, cursor_of
from articles.models import Article, Tag
from articles.search import index
from articles.site import urls
from articles.site.feeds.formats import FORMS
from articles.site.search import SearchForm
from tests.articles.factories import APPROVED, EARLY, approve, make_article, make_channel, make_editor, sitemap_of, soon
from tests.harness import eventually

# InnoDB finds a text by FULLTEXT once it is committed.
pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
BETWEEN = 31
HEADLINE = "Lock gates open"

NO_LIST = {
    "article-by-id", "front-archive", "icon", "media", "preview", "push", "push-worker", "robots", "sitemap-pages",
    "shared-page", "channel-list", "live-article-detail",
}  # fmt: skip
"""Readers' addresses that list no articles."""

IN_ANOTHER_ORDER = ("/sitemap", "updated_since=", "ordering=")
"""Parts of the addresses of lists by id, by change or with the oldest first; the article must be there."""


def patterns() -> Iterator[tuple[str, str]]:
    """Path and name of each of the readers' addresses."""
    for pattern in urls.urlpatterns:
        yield f"/{pattern.pattern}", pattern.name or ""
    for route in router.urls:
        view: Any = getattr(route, "callback", None)
        if view.cls.authentication_classes == ():
            yield f"/api/v1/{route.pattern}", getattr(route, "name", "")


def lists(article: Article, other: Article) -> list[str]:
    """The address of each list that should have `article`, with each of its filters."""
    arguments = {
        "<language:language>": "en",
        "fronts/<str:slug>": "fronts/en",
        "tag/<str:slug>": "tag/rain",
        "channel/<str:slug>": "channel/town",
        "author/<int:pk>": f"author/{article.author_id}",
        "article/<int:pk>/<str:slug>/": other.get_absolute_url()[1:],  # its related articles
        "/sitemap-<int:number>.xml": sitemap_of(article),
    }
    found = []
    for path, name in patterns():
        if name in NO_LIST:
            continue
        for placeholder, value in arguments.items():
            path = path.replace(placeholder, value)
        paths = [path.replace("<str:form>", form) for form in FORMS] if "<str:form>" in path else [path]
        found += [one + query for one in paths for query in QUERIES.get(name, none)(article)]
    return found


def none(article: Article) -> list[str]:
    return [""]


def api_queries(article: Article) -> list[str]:
    """Each filter alone, and all that can be combined."""
    values: dict[str, Any] = {
        "author": article.author_id,
        "channel": "town",
        "older": Cursor(soon(hours=1), 0),
        "q": "gates",
        "since": (article.out_since - timedelta(seconds=1)).isoformat(),
        "tag": "rain",
        "until": (article.out_since + timedelta(seconds=1)).isoformat(),
        "updated_since": "2000-01-01T00:00:00Z",
        "ids": f"{article.pk}",
        "slug": article.address_slug,
        "address": article.get_absolute_url(),
        "ordering": "published_at",
    }
    assert values.keys() == LiveFilterSerializer().fields.keys()
    return ["", *(f"?{urlencode({name: value})}&page_size=50" for name, value in values.items())]


def search_queries(article: Article) -> list[str]:
    today = f"{article.out_since:%Y-%m-%d}"
    values: dict[str, Any] = {
        "author": article.author_id, "channel": "town", "q": "gates", "since": today, "tag": "rain", "until": today,
    }  # fmt: skip
    assert values.keys() == SearchForm.base_fields.keys()
    return [f"?{urlencode({name: value})}" for name, value in values.items()]


QUERIES: dict[str, Callable[[Article], list[str]]] = {
    "live-article-list": api_queries,
    "search": search_queries,
    "home": lambda _article: ["", "?page_size=3"],
}


@pytest.fixture
def shown() -> dict[str, Any]:
    """What all articles of these tests have in common, so that they are in the same lists."""
    author = User.objects.create_user("ada", first_name="Ada")
    tag = Tag.objects.create(name="Rain")
    return {"author": author, "channel": make_channel("Town"), "tag": tag}


def add(title: str, *, tag: Tag, **values: Any) -> Article:
    article = make_article(title, body="<p>Lock gates</p>", **values)
    article.tags.add(tag)
    return article


def add_between(shown: dict[str, Any]) -> list[Article]:
    """Articles that went live since the hour before last, newest last."""
    articles = [
        add(f"Gates {n:02}", status=Status.PUBLISHED, publish_at=soon(minutes=n - 60), **shown) for n in range(BETWEEN)
    ]
    index([article.pk for article in articles])
    return articles


def embargo_over(article: Article) -> None:
    Article.objects.filter(pk=article.pk).update(embargo_until=soon(), cleared_at=EARLY)


def embargo_lifted(article: Article) -> None:
    publishing.set_embargo(article, until=None, by=make_editor())


def add_late(go_live: Callable[[Article], None], shown: dict[str, Any]) -> Article:
    """An article whose time is past, and that `go_live` publishes."""
    held = {"status": APPROVED, "embargo_until": soon(days=1), "cleared_at": EARLY}
    state = {"status": Status.MANUAL_REVIEW} if go_live is approve else held
    article = add(HEADLINE, publish_at=soon(hours=-2), **state, **shown)
    index([article.pk])
    return article


WAYS = pytest.mark.parametrize("go_live", [embargo_over, embargo_lifted, approve])


@pytest.mark.cases(1)
@WAYS
def test_an_article_that_goes_live_after_its_time_leads_every_list(
    go_live: Callable[[Article], None], shown: dict[str, Any]
) -> None:
    late = add_late(go_live, shown)
    between = add_between(shown)
    for address in lists(late, between[0]):
        Client().get(address)  # so that a response without it is cached
    go_live(late)
    late.refresh_from_db()
    eventually(lambda: late.pk in live_ids())
    addresses = lists(late, between[0])
    places = {address: place_of(late, address) for address in addresses}
    assert {address: place for address, place in places.items() if place != 0} == {}
    assert len(addresses) > 30


def place_of(article: Article, address: str) -> int | None:
    """How many articles stand before it in a list, or None if it is not there."""
    text = Client().get(address).text
    if address == "/sitemap.xml":
        return 0 if text.count(f"{article.out_since:%Y-%m-%dT%H:%M}") else None
    text = text.partition("<main")[2] or text
    ids = list(dict.fromkeys(map(int, re.findall(r'/article/(\d+)/(?!-?[^"<]*"\s*rel)', text))))
    if address.startswith("/article/"):
        ids.remove(int(address.split("/")[2]))
    if article.pk not in ids:
        return None
    return 0 if any(part in address for part in IN_ANOTHER_ORDER) else ids.index(article.pk)


def test_a_program_that_asks_for_what_is_new_misses_nothing(shown: dict[str, Any], client: Client) -> None:
    """It asks from the newest `published_at` that it has; between two requests others go live by an editor's hand."""
    editor = make_editor()
    embargoed = add(HEADLINE, status=APPROVED, publish_at=soon(hours=-2), embargo_until=soon(hours=9), **shown)
    missed = add("Approved late", status=Status.MANUAL_REVIEW, publish_at=soon(hours=-1), **shown)
    Article.objects.update(cleared_at=EARLY)
    known: dict[int, str] = {}

    def follow() -> set[int]:
        since = max(known.values(), default="2000-01-01T00:00:00Z")
        found = client.get(f"/api/v1/articles/?since={since}&page_size=2").json()
        while True:
            known.update((row["id"], row["published_at"]) for row in found["results"])
            if found["next"] is None:
                return set(known)
            found = client.get(found["next"]).json()

    def publish_another() -> None:
        publishing.publish_now(add("Another", status=APPROVED, publish_at=soon(days=1), **shown), by=editor)

    steps: list[Callable[[], Any]] = [
        publish_another,
        lambda: publishing.set_embargo(embargoed, until=None, by=editor),
        publish_another,
        lambda: approve(missed),
        publish_another,
    ]
    for step in steps:
        step()
        assert follow() == live_ids()
    assert len(known) == len(steps)


def live_ids() -> set[int]:
    return set(Article.objects.live(soon()).values_list("pk", flat=True))


@pytest.mark.cases(1)
@WAYS
def test_pages_neither_skip_nor_repeat_while_an_article_goes_live_late(
    go_live: Callable[[Article], None], shown: dict[str, Any], client: Client
) -> None:
    old = [add(f"Older {n}", status=Status.PUBLISHED, publish_at=soon(hours=-n - 3), **shown) for n in range(4)]
    late = add_late(go_live, shown)
    expected = [article.pk for article in [*reversed(add_between(shown)), *old]]
    page = client.get("/api/v1/articles/?page_size=5").json()
    site = client.get("/channel/town/?page_size=5").context["page"]
    go_live(late)
    assert client.get("/api/v1/articles/").json()["results"][0]["id"] == late.pk
    assert [row["id"] for row in rest_of(client, page)] == expected
    assert list(older_ids(client, site)) == expected
    newest_known = f"?after={cursor_of(site.articles[0])}&page_size=1"
    assert [article.pk for article in client.get(f"/channel/town/{newest_known}").context["page"].articles] == [late.pk]


def rest_of(client: Client, page: dict[str, Any]) -> list[dict[str, Any]]:
    rows = list(page["results"])
    while page["next"]:
        page = client.get(page["next"]).json()
        rows += page["results"]
    return rows


def older_ids(client: Client, page: Any) -> Iterator[int]:
    yield from (article.pk for article in page.articles)
    while page.older:
        page = client.get(f"/channel/town/{page.older}").context["page"]
        yield from (article.pk for article in page.articles)
