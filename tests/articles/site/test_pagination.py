"""Pagination of readers' lists, with and without scripts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.signing import Signer
from django.test import Client
from playwright.sync_api import Page as Window, expect

from articles.limits import PAGE_SIZE as LARGEST
from articles.listing.cursor import cursor_of
from articles.models import Article, Tag
from articles.site.pagination import SIZE
from tests.articles.factories import APPROVED, make_article, make_channel, make_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status


def live(number: int, **values: Any) -> Article:
    """The article that went live so many minutes ago."""
    values = {"status": Status.PUBLISHED, "publish_at": soon(minutes=-number - 1), **values}
    return make_article(f"No. {number:03}", **values)


def titles(client: Client, address: str) -> list[str]:
    return [article.title for article in client.get(address).context["page"].articles]


def numbers(first: int, last: int) -> list[str]:
    return [f"No. {number:03}" for number in range(first, last)]


def test_older_and_newer_pages_lead_to_each_other(client: Client) -> None:
    """R5.8"""
    channel = make_channel()
    for number in range(2 * SIZE + 5):
        live(number, channel=channel)
    first = client.get("/channel/politics/")
    second = client.get(f"/channel/politics/{first.context['page'].older}")
    third = client.get(f"/channel/politics/{second.context['page'].older}")
    assert [article.title for article in third.context["page"].articles] == numbers(2 * SIZE, 2 * SIZE + 5)
    assert titles(client, f"/channel/politics/{third.context['page'].newer}") == numbers(SIZE, 2 * SIZE)
    assert titles(client, f"/channel/politics/{second.context['page'].newer}") == numbers(0, SIZE)
    for page, ways in ((first, {"next"}), (second, {"next", "prev"}), (third, {"prev"})):
        assert {way for way in ("next", "prev") if f'rel="{way}"' in page.text} == ways


def test_a_page_of_less_than_its_size_is_shown_whole_as_the_first(client: Client) -> None:
    articles = [live(number) for number in range(SIZE + 3)]
    page = client.get(f"/?after={cursor_of(articles[3])}").context["page"]
    assert [article.title for article in page.articles] == numbers(0, SIZE)
    assert page.is_first


def test_paging_continues_when_the_last_article_is_unpublished(client: Client) -> None:
    articles = [live(number) for number in range(SIZE + 3)]
    older = client.get("/").context["page"].older
    Article.objects.filter(pk=articles[SIZE - 1].pk).update(status=Status.UNPUBLISHED)
    live(0, publish_at=soon())
    assert titles(client, f"/{older}") == numbers(SIZE, SIZE + 3)


def test_a_page_has_10_articles_by_default_and_50_at_most(client: Client) -> None:
    for number in range(LARGEST + 2):
        live(number)
    client.get("/")
    for asked, given in (("", SIZE), ("?page_size=3", 3), ("?page_size=50", 50), (f"?page_size={10**30}", 50)):
        page = client.get(f"/{asked}").context["page"]
        assert len(page.articles) == given
    assert (SIZE, LARGEST) == (10, 50)
    assert len(titles(client, f"/{client.get('/?page_size=7').context['page'].older}")) == 7


@pytest.mark.parametrize("size", ["0", "-1", "x", "1e2", "", "٣", "00"])
def test_an_invalid_page_size_gives_404(client: Client, size: str) -> None:
    assert client.get("/", {"page_size": size}).status_code == 404


def test_forged_cursors_give_404(client: Client) -> None:
    shown, waiting = live(0), make_article(status=APPROVED, publish_at=soon(hours=1))
    by_hand = [str(pk) for pk in (shown.pk, waiting.pk, 10**9, -1, 0)]
    by_hand += ["x", "\0", "1.1~x", f"1763700000000000.{shown.pk}", Signer(salt="other", sep="~").sign("1.1")]
    for address in ("/", "/?page_size=20"):
        for way in ("before", "after"):
            responses = [client.get(address, {way: cursor}) for cursor in by_hand]
            assert {response.status_code for response in responses} == {404}
            assert {response.text.replace(response.request["PATH_INFO"], "") for response in responses} == {
                responses[0].text.replace(responses[0].request["PATH_INFO"], "")
            }


def test_a_cursor_after_the_last_article_gives_404(client: Client) -> None:
    last = live(0)
    assert client.get("/", {"before": str(cursor_of(last))}).status_code == 404


def test_a_list_of_older_articles_has_a_title_and_an_address_of_its_own(client: Client) -> None:
    for number in range(SIZE + 1):
        live(number)
    older = client.get("/").context["page"].older
    text = client.get(f"/{older}&utm_source=x").text
    assert "Older articles" in text[text.index("<title>") : text.index("</title>")]
    assert f'<link rel="canonical" href="http://127.0.0.1:8000/{older}">' in text
    assert f'name="next" value="/{older}"' in text  # a reader who chooses the other language stays on the page
    assert "utm_source" not in text


def test_tags_and_authors_have_pages_like_channels(client: Client) -> None:
    ada = make_user("ada.log-in")
    ada.first_name, ada.last_name = "Ada", "Lin"
    ada.save()
    tag = Tag.objects.create(name="高铁")
    article = live(1, author=ada)
    article.tags.add(tag)
    live(2, byline="By the wire", author=ada)
    page = client.get(article.get_absolute_url())
    for address, name in (("/tag/高铁/", "高铁"), (f"/author/{ada.pk}/", "Ada Lin")):
        assert titles(client, address) == ["No. 001"]
        text = client.get(address).text
        assert f">{name}</h1>" in text
        assert f'href="{address}feed/"' in text or "%E9%AB%98" in text
        assert "ada.log-in" not in text
    assert f'href="/author/{ada.pk}/"' in page.text
    assert 'rel="tag"' in page.text


def test_tags_and_authors_without_live_articles_are_like_unknown_ones(client: Client) -> None:
    ada, nameless = make_user("ada"), make_user("eve")
    ada.first_name = "Ada"
    ada.save()
    tag = Tag.objects.create(name="Secret")
    make_article(author=ada, status=APPROVED, publish_at=soon(hours=1)).tags.add(tag)
    live(1, author=nameless)
    unknown = client.get("/tag/unknown/").text.replace("/tag/unknown/", "")
    for address in ("/tag/secret/", f"/author/{ada.pk}/", f"/author/{nameless.pk}/", f"/author/{10**9}/", "/author/0/"):
        response = client.get(address)
        assert response.status_code == 404
        assert response.text.replace(address, "") == unknown


def test_paging_skips_any_number_of_articles_that_are_not_live(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("articles.listing.filters.FIRST_CANDIDATES", 3)
    channel = make_channel()
    oldest = live(9, channel=channel)
    for number in range(3, 8):
        live(number, channel=channel, status=Status.UNPUBLISHED)
    newest = [live(number, channel=channel) for number in (1, 2)]
    first = client.get("/channel/politics/?page_size=2").context["page"]
    assert first.articles == newest
    assert client.get(f"/channel/politics/{first.older}").context["page"].articles == [oldest]


def test_older_articles_are_added_to_the_open_page(page: Window) -> None:
    channel = make_channel()
    for number in range(2 * SIZE + 1):
        live(number, channel=channel)
    page.goto("/channel/politics/")
    older = page.get_by_role("link", name="Older articles")
    older.click()
    expect(page.get_by_role("heading", level=2)).to_have_count(2 * SIZE)
    expect(page.get_by_role("link", name=f"No. {SIZE:03}")).to_be_focused()
    expect(page.get_by_text("Older articles have been added.")).to_have_attribute("role", "status")
    older.click()
    expect(page.get_by_role("heading", level=2)).to_have_count(2 * SIZE + 1)
    expect(older).to_have_count(0)
    assert "before=" in page.url

    page.reload()
    expect(page.get_by_role("heading", level=2)).to_have_count(1)
    pending_update = page.get_by_role("link", name="Newer articles")
    pending_update.click()
    expect(page.get_by_role("heading", level=2)).to_have_count(SIZE + 1)
    expect(page.get_by_role("link", name=f"No. {2 * SIZE - 1:03}")).to_be_focused()


@pytest.mark.thorough
def test_older_articles_are_a_page_of_their_own_without_scripts(page: Window) -> None:
    context = page.context.browser.new_context(java_script_enabled=False)  # type: ignore[union-attr]
    for number in range(SIZE + 1):
        live(number, publish_at=soon(hours=-1) - timedelta(minutes=number))
    page.goto("/")
    with context:
        plain = context.new_page()
        plain.goto(page.url)
        expect(plain.get_by_text("Just in")).to_be_hidden()
        plain.get_by_role("link", name="Older articles").click()
        expect(plain.get_by_role("link", name=f"No. {SIZE:03}")).to_be_visible()


@pytest.mark.cases(2)
@pytest.mark.parametrize("address", ["/", "/channel/politics/"])
@pytest.mark.parametrize(("size", "shown"), [("0000000000010", 10), ("0" * 5000 + "1", 1), ("07", 7), ("9" * 400, 12)])
def test_leading_zeros_of_a_page_size_are_ignored(address: str, size: str, shown: int) -> None:
    channel = make_channel("Politics")
    for number in range(12):
        make_article(f"No. {number}.", status=APPROVED, publish_at=soon(hours=-1), channel=channel)
    text = Client().get(f"{address}?page_size={size}").text
    assert sum(f"No. {number}." in text for number in range(12)) >= shown
    assert Client().get("/channel/politics/?page_size=00000000000").status_code == 404
