"""Query counts of pages and API do not grow with the number of articles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from articles.listing.cursor import cursor_of
from articles.models import Article, Channel, SearchEntry, Tag, Tagging
from articles.search import query
from tests.articles.factories import make_article, make_channel, make_editor
from tests.articles.image_files import make_image

# InnoDB finds a text by FULLTEXT once it is committed.
pytestmark = pytest.mark.django_db(transaction=True)

FEW, MANY = 800, 3_200


@pytest.fixture
def town(monkeypatch: pytest.MonkeyPatch) -> Channel:
    """A channel; its articles are few already for so many to be looked into, and the sample is small as they are."""
    monkeypatch.setattr(query, "_SMALL_INDEX", 0)
    monkeypatch.setattr(query, "_BLOCKS", 8)
    Tag.objects.create(name="Weather")
    return make_channel("Town")


def fill(channel: Channel, size: int) -> None:
    """Add live articles by Ada, one a minute, until there are so many; all have rain, half of them hail.

    Their ids begin at 1: how search samples the index, and so its cost, depends on them.
    """
    present = Article.objects.count()
    noon = timezone.now() - timedelta(days=9)
    author, _is_new = User.objects.get_or_create(username="ada", first_name="Ada")
    Article.objects.bulk_create(
        Article(
            pk=n + 1,
            title="Rain",
            channel=channel,
            author=author,
            status=Article.Status.PUBLISHED,
            publish_at=noon + timedelta(minutes=n),
        )
        for n in range(present, size)
    )
    for_all = Article.objects.order_by("pk")[present:]
    SearchEntry.objects.bulk_create(
        SearchEntry(
            article=article, heading="qrain", whole="qrain qhail" if n % 2 else "qrain", seen=article.updated_at
        )
        for n, article in enumerate(for_all)
    )
    Tagging.objects.bulk_create(Tagging(article=article, tag=Tag.objects.get()) for article in for_all)
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE TABLE articles_article, articles_searchentry, articles_article_tags")


@contextmanager
def counted() -> Iterator[Callable[[], int]]:
    """How many rows MariaDB reads in the block; of SQLite, which does not tell, how many hundred steps it takes."""
    transitions = [0]

    def count() -> int:
        transitions[0] += 1
        return 0

    if connection.vendor == "mysql":
        before = _rows_read()
        yield lambda: _rows_read() - before
    else:
        connection.ensure_connection()
        connection.connection.set_progress_handler(count, 100)
        yield lambda: transitions[0]
        connection.connection.set_progress_handler(None, 0)


def _rows_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Handler_read%'")
        return sum(int(value) for _name, value in cursor.fetchall())


def costs(addresses: list[str]) -> dict[str, int]:
    """The cost of each URL, built without the cache."""
    taken = {}
    for address in addresses:
        caches["responses"].clear()
        with counted() as cost:
            assert Client().get(address).status_code == 200, address
            taken[address] = cost()
    return taken


def ratios(few: dict[str, int], many: dict[str, int]) -> dict[str, float]:
    """How many times more each address costs; the places in some differ, but they stand in the same order."""
    return {address: high / low for (address, high), low in zip(many.items(), few.values(), strict=True)}


def addresses() -> list[str]:
    middle = Article.objects.order_by("pk")[Article.objects.count() // 2]
    moment = f"{middle.publish_at:%Y-%m-%dT%H:%M:%SZ}"
    api = "/api/v1/articles/"
    author = f"/author/{middle.author_id}/"
    return [
        "/",
        "/latest/",
        "/channel/town/",
        "/tag/weather/",
        author,
        "/feed/",
        "/channel/town/feed/",
        "/tag/weather/feed/",
        f"{author}feed/",
        api,
        f"{author}?before={cursor_of(middle)}",
        f"/tag/weather/?before={cursor_of(middle)}",
        f"/?before={cursor_of(middle)}",
        f"/?after={cursor_of(middle)}",
        f"{api}?author={middle.author_id}&until={moment}",
        f"{api}?channel=town&until={moment}",
        f"{api}?tag=weather&until={moment}",
        f"{api}?until={moment}",
        f"{api}?channel=town&since={moment}",
        Client().get(f"{api}?channel=town&until={moment}").json()["next"].removeprefix("http://testserver"),
        f"/channel/town/?before={cursor_of(middle)}",
        "/search/?q=rain",
        "/search/?q=hail",
        "/search/?q=rain+hail",
        "/search/?q=rain&channel=town",
        f"/search/?q=rain&channel=town&older={cursor_of(middle)}",
        f"{api}?q=rain&channel=town&until={moment}",
    ]


def test_more_articles_cost_no_more(town: Channel) -> None:
    fill(town, FEW)
    few = costs(addresses())
    fill(town, MANY)
    many = costs(addresses())
    most = 1.5 if connection.vendor == "mysql" else MANY / FEW  # SQLite walks from the end, over narrow rows
    assert {address: ratio for address, ratio in ratios(few, many).items() if ratio > most} == {}


def test_pages_with_covers_tags_and_authors_take_few_statements() -> None:
    editor, tag = make_editor(), Tag.objects.create(name="Rain")
    image, channels = str(make_image(editor).pk), [make_channel("Town"), make_channel("Sport")]
    for number in range(6):
        article = make_article(
            f"No. {number}",
            author=editor,
            channel=channels[number % 2],
            cover=[image],
            status=Article.Status.PUBLISHED,
            publish_at=timezone.now() - timedelta(minutes=number),
        )
        article.tags.add(tag)
    most = {
        "/": 5,  # one looks for a composed front
        "/channel/town/": 6,
        article.get_absolute_url(): 6,
        "/api/v1/articles/": 4,
        "/feed/": 4,
    }
    taken = {}
    for address in most:
        caches["responses"].clear()
        with CaptureQueriesContext(connection) as queries:
            assert Client().get(address).status_code == 200
        taken[address] = len(queries)
    assert {address: number for address, number in taken.items() if number > most[address]} == {}
