"""Links from a text to articles: readers get them as text until the clock shows the article."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from time import sleep
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import publishing
from articles.models import Article
from articles.publishing.previews import make_preview_link
from scheduling.database import read_database_clock
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, soon

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


@pytest.fixture(autouse=True)
def _cached_for_a_minute(settings: Any) -> None:
    """As with Redis, whichever cache the tests run on."""
    settings.PAGE_CACHE_SECONDS = 60.0


def live(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-1), **values})


def linking_to(*others: Article, address: Callable[[Article], str] = Article.get_absolute_url) -> Article:
    """A live article with a link to each of these."""
    return live(body="".join(f'<p><a href="{address(other)}">the plan</a></p>' for other in others))


def page(article: Article) -> Any:
    return Client().get(article.get_absolute_url())


def cost(address: str) -> int:
    """The number of statements of a response."""
    with CaptureQueriesContext(connection) as queries:
        assert Client().get(address).status_code == 200
    return len(queries)


def links(article: Article, other: Article) -> set[bool]:
    """Whether its page and its body in the API link to the other's present address; otherwise they have the text."""
    bodies = page(article).text, Client().get(f"/api/v1/articles/{article.pk}/").json()["body"]
    link = f'<a href="{other.get_absolute_url()}" rel="noopener noreferrer">the plan</a>'
    assert all("the plan" in body for body in bodies)
    return {link in body for body in bodies}


FORMS: dict[str, Callable[[Article], str]] = {
    "path": Article.get_absolute_url,
    "absolute": lambda other: f"{settings.SITE_URL}{other.get_absolute_url()}",
    "without a scheme": lambda other: f"//{settings.SITE_URL.partition('//')[2]}{other.get_absolute_url()}",
    "former slug": lambda other: f"/article/{other.pk}/secret-plan/",
    "without a slug": lambda other: f"/article/{other.pk}/",
    "with a place": lambda other: f"{other.get_absolute_url()}?from=a&amp;b=1#top",
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("form", FORMS)
def test_a_link_is_text_until_its_article_is_live_then_leads_to_its_present_address(form: str) -> None:
    target = make_article("Secret plan", status=APPROVED, publish_at=soon(hours=1))
    article = linking_to(target, address=FORMS[form])
    text = page(article).text
    assert "<p>the plan</p>" in text and "secret-plan" not in text and f"article/{target.pk}" not in text
    target.slug = "known-plan"
    target.publish_at = soon(seconds=-1)
    target.save()
    site = FORMS[form](target).partition("/article/")[0]
    place = "?from=a&amp;b=1#top" if form == "with a place" else ""
    assert f'<p><a href="{site}/article/{target.pk}/known-plan/{place}"' in page(article).text


def test_a_cached_page_gets_the_link_at_the_instant_and_loses_it_at_the_end() -> None:
    begin, end = soon(seconds=3), soon(seconds=7)
    target = make_article("Secret plan", status=APPROVED, publish_at=begin, unpublish_at=end)
    article, early, between = linking_to(target), [], []
    while (before := read_database_clock()) < end:
        found, after = links(article, target), read_database_clock()
        if after < begin:
            early.append(found)
        elif begin <= before and after < end:
            between.append(found)
        sleep(0.05)  # the other tests need the processor, too
    assert early and all(found == {False} for found in early)
    assert between and all(found == {True} for found in between)
    assert links(article, target) == {False}


def test_an_embargo_keeps_the_link_from_readers() -> None:
    target = make_article("Secret plan", status=APPROVED, publish_at=soon(hours=-1), embargo_until=soon(hours=1))
    article = linking_to(target)
    assert links(article, target) == {False}
    target.embargo_until = soon(seconds=-1)
    target.save()
    assert links(article, target) == {True}


@pytest.mark.parametrize("transition", ["unpublish", "retract"])
def test_what_is_gone_is_text_at_once_and_a_link_again_when_it_returns(transition: str) -> None:
    target, editor = live("Plan", channel=make_channel()), make_editor()
    article = linking_to(target)
    assert links(article, target) == {True}
    if transition == "unpublish":
        publishing.unpublish(target, by=editor)
    else:
        publishing.retract(target, by=editor, notice="It was wrong.")
    assert links(article, target) == {False}
    if transition == "retract":
        publishing.undo_retraction(target, by=editor)
    publishing.republish(target, by=editor)
    assert links(article, target) == {True}


def test_links_to_other_sites_missing_pages_and_parts_of_the_page_stay() -> None:
    addresses = ["https://example.org/article/7/x/", "#top", "mailto:a@example.org", "/channel/town/", "/articles/7/"]
    body = "".join(f'<p><a href="{address}">x</a></p>' for address in addresses)
    text = page(live(body=body)).text
    assert all(f'<a href="{address}"' in text for address in addresses)


def test_responses_have_the_tags_of_live_targets_and_not_the_ids_of_others() -> None:
    target, draft = live("Plan"), make_article("Draft")
    article = linking_to(target, draft)
    for address in (article.get_absolute_url(), f"/api/v1/articles/{article.pk}/"):
        tags = Client().get(address)["Surrogate-Key"].split()
        assert f"article:{target.pk}" in tags and "news" in tags and f"article:{draft.pk}" not in tags


def test_other_news_rebuilds_no_page_whose_links_are_all_live() -> None:
    article = linking_to(live("Plan"))
    article.channel = make_channel("Sport")
    article.save()
    other = live("Cup final", channel=make_channel("Town"))
    assert cost(article.get_absolute_url())
    other.summary = "Extra time."
    other.save()
    assert cost(article.get_absolute_url()) == 0


def test_any_number_of_links_costs_one_statement_and_none_costs_none() -> None:
    costs = []
    for number in (0, 1, 30):
        targets = [live(f"Plan {n}") for n in range(number)]
        article = linking_to(*targets)
        pair = []
        for address in (article.get_absolute_url(), f"/api/v1/articles/{article.pk}/"):
            caches["responses"].clear()
            pair.append(cost(address))
        costs.append(pair)
    none, one, many = costs
    assert one == many == [number + 1 for number in none]


def test_followers_get_the_links_of_many_articles_by_one_statement() -> None:
    since = "/api/v1/articles/?updated_since=2000-01-01T00:00:00Z"
    target, draft = live("Plan"), make_article("Draft")
    linking_to(target, draft)
    costs = []
    for _turn in range(2):
        assert cost(since), "the feed has what changed"
        costs.append(cost(since))
        for _number in range(3):
            linking_to(target, draft)
    assert costs[0] == costs[1]
    bodies = [row["body"] for row in Client().get(since).json()["results"] if "the plan" in row["body"]]
    assert len(bodies) == 7
    assert all(f'"{target.get_absolute_url()}"' in body and f"/{draft.pk}/" not in body for body in bodies)


def test_a_shared_preview_shows_links_as_readers_get_them() -> None:
    target, editor = make_article("Secret plan"), make_editor()
    draft = make_article("Bridge", body=f'<p><a href="{target.get_absolute_url()}">the plan</a></p>')
    link = make_preview_link(draft, by=editor, lasts=timedelta(hours=1))
    text = Client().get(link.get_absolute_url()).text
    assert "<p>the plan</p>" in text and "secret-plan" not in text
