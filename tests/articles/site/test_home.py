"""The front page: its lead, its sections, and its queries."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles.models import Article
from articles.site.home import SECTION_SIZE, SECTIONS, FrontPage
from articles.site.pagination import SIZE
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, soon
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

Status = Article.Status


def live(title: str, *, hours: float, **values: Any) -> Article:
    """An article that went live so many hours ago."""
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-hours), **values})


def with_cover(article: Article) -> Article:
    cover = make_image(make_editor(f"editor of {article.pk}"))
    Article.objects.filter(pk=article.pk).update(cover=[str(cover.pk)])
    return article


def front(client: Client) -> FrontPage:
    found: FrontPage = client.get("/").context["front"]
    return found


def test_the_newest_article_with_an_image_leads(client: Client) -> None:
    lead = with_cover(live("The picture of the day", hours=20, channel=make_channel()))
    with_cover(live("An older picture", hours=21))
    for number in range(SIZE + 2):
        live(f"Bulletin {number}", hours=1)
    page = front(client)
    assert page.lead == lead
    assert len(page.others) == SIZE - 1
    assert client.get("/").text.count("The picture of the day</a>") == 1


def test_a_front_page_of_one_article_has_the_lead_beside_it(client: Client) -> None:
    with_cover(live("The picture of the day", hours=3, channel=make_channel()))
    live("Bulletin", hours=1)
    page = client.get("/?page_size=1").context["front"]
    assert (page.lead.title, [article.title for article in page.others]) == ("The picture of the day", ["Bulletin"])


def test_without_a_recent_image_the_newest_article_leads(client: Client) -> None:
    with_cover(live("Yesterday's picture", hours=30))
    newest = live("Bulletin", hours=1)
    assert front(client).lead == newest


def test_a_section_shows_what_is_new_in_its_channel_and_not_above(client: Client) -> None:
    town, port, empty = (make_channel(name, position=cursor) for cursor, name in enumerate(("Town", "Port", "Empty")))
    old = [live(f"Old {number}", hours=50 + number, channel=town) for number in range(SECTION_SIZE + 2)]
    for number in range(SIZE):
        live(f"New {number}", hours=number, channel=port)
    make_article("Waiting", status=APPROVED, publish_at=soon(hours=1), channel=town)
    page = front(client)
    assert [article.title for article in page.page.articles] == [f"New {number}" for number in range(SIZE)]
    assert [(section.channel, section.articles) for section in page.sections] == [(town, old[:SECTION_SIZE])]
    assert f'href="{empty.get_absolute_url()}"' in client.get("/").text


def test_no_article_is_on_the_front_page_twice(client: Client) -> None:
    for number in range(40):
        live(f"No. {number:02}", hours=number, channel=make_channel(f"Channel {number}") if number < 3 else None)
    text = client.get("/").text
    assert max(text.count(f">No. {number:02}</a>") for number in range(40)) == 1


@pytest.mark.thorough
def test_the_query_count_of_the_front_page_does_not_depend_on_channels(client: Client) -> None:
    costs = []
    for start, stop in ((0, 1), (1, SECTIONS + 9)):
        for number in range(start, stop):
            channel = make_channel(f"Channel {number:02}", position=number)
            for age in range(SIZE + SECTION_SIZE):
                live(f"{number} {age}", hours=age, channel=channel)
        with CaptureQueriesContext(connection) as queries:
            page = front(client)
        costs.append(len(queries))
    assert costs[0] == costs[1] <= 5
    assert [section.channel.name for section in page.sections] == [f"Channel {number:02}" for number in range(SECTIONS)]
