"""Sitemaps, the news sitemap and robots.txt."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client

from articles.models import Article
from articles.site import sitemaps
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, soon
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

Status = Article.Status
SITE = "http://127.0.0.1:8000"
NAMESPACES = {
    "s": "http://www.sitemaps.org/schemas/sitemap/0.9",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
}


def live(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-1), **values})


def read(address: str) -> ElementTree.Element:
    """A sitemap, which must be XML of the right kind."""
    response = Client().get(address)
    assert (response.status_code, response["Content-Type"]) == (200, "application/xml")
    return ElementTree.fromstring(response.content)


def texts(address: str, path: str) -> list[str | None]:
    """The texts of the elements at `path`."""
    return [element.text for element in read(address).iterfind(path, NAMESPACES)]


def test_the_index_leads_to_every_live_article(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemaps, "SECTION", 3)
    articles = [live(f"No. {number}", pk=number) for number in range(1, 9)]  # in the first of all sections
    expected = [f"{SITE}{article.get_absolute_url()}" for article in articles]
    sections = texts("/sitemap.xml", "s:sitemap/s:loc")
    assert sections[0] == f"{SITE}/sitemap-pages.xml"
    found = [link for address in sections[1:] for link in texts(str(address).removeprefix(SITE), "s:url/s:loc")]
    assert found == expected


def test_the_index_says_which_sections_changed() -> None:
    assert texts("/sitemap.xml", "s:sitemap/s:lastmod") == []
    article = live()
    (changed,) = texts("/sitemap.xml", "s:sitemap/s:lastmod")
    assert datetime.fromisoformat(str(changed)) == article.modified_at


def test_the_index_knows_the_sections_in_which_readers_see_something_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came out, left its embargo or has another text, however long ago it was written; not what was just saved."""
    monkeypatch.setattr(sitemaps, "SECTION", 1)
    monkeypatch.setattr(sitemaps, "_RECENT_CHANGES", 2)
    states: list[dict[str, Any]] = [
        {"publish_at": soon(minutes=-5)},
        {"publish_at": soon(hours=-9), "embargo_until": soon(minutes=-3)},
        {"publish_at": soon(hours=-9)},
        {"publish_at": soon(hours=-8)},
    ]
    for number, values in enumerate(states, start=1):
        live(pk=number, **values)
    Article.objects.exclude(pk=3).update(text_changed_at=soon(days=-1))
    Article.objects.filter(pk=3).update(text_changed_at=soon(minutes=-1))
    Article.objects.filter(pk=4).update(text_changed_at=soon(days=-2))
    Article.objects.get(pk=4).save()
    make_article("A draft", pk=5)
    changed = {element.findtext("s:loc", "", NAMESPACES) for element in read("/sitemap.xml") if len(element) > 1}
    assert changed == {f"{SITE}/sitemap-{number}.xml" for number in (1, 2, 3)}


def test_a_url_has_the_time_of_publication_or_last_change() -> None:
    article = live("国产 & 大飞机", slug="国产")
    later = live("Out after its last change", publish_at=soon(hours=-1), embargo_until=soon(minutes=-1))
    Article.objects.filter(pk=later.pk).update(text_changed_at=soon(hours=-2))
    number = article.pk // sitemaps.SECTION
    address = f"/sitemap-{number}.xml"
    assert texts(address, "s:url/s:loc")[0] == f"{SITE}/article/{article.pk}/%E5%9B%BD%E4%BA%A7/"
    assert later.embargo_until is not None
    expected = [moment.astimezone(UTC).isoformat() for moment in (article.modified_at, later.embargo_until)]
    assert texts(address, "s:url/s:lastmod") == expected


def test_a_cover_is_in_the_sitemap() -> None:
    article, cover = live(), make_image(make_editor())
    Article.objects.filter(pk=article.pk).update(cover=[str(cover.pk)])
    links = texts(f"/sitemap-{article.pk // sitemaps.SECTION}.xml", "s:url/image:image/image:loc")
    assert links == [f"{SITE}{cover.address_in_full}"]


def test_front_page_and_channels_are_in_the_sitemap() -> None:
    make_channel("Town")
    make_channel("Closed", enabled=False)
    assert texts("/sitemap-pages.xml", "s:url/s:loc") == [f"{SITE}/en/", f"{SITE}/zh-hans/", f"{SITE}/channel/town/"]


def test_news_are_those_of_two_days_newest_first() -> None:
    old, newest = live("Old", publish_at=soon(hours=-49)), live("Bell \x07 & <桥>", publish_at=soon(minutes=-1))
    live("Middle", publish_at=soon(hours=-47))
    assert texts("/news-sitemap.xml", "s:url/news:news/news:title") == ["Bell  & <桥>", "Middle"]
    assert texts("/news-sitemap.xml", "s:url/s:loc")[0] == f"{SITE}{newest.get_absolute_url()}"
    assert texts("/news-sitemap.xml", "s:url/news:news/news:publication/news:name") == ["Headline"] * 2
    assert texts("/news-sitemap.xml", "s:url/news:news/news:publication/news:language") == ["en"] * 2
    (first, _second) = texts("/news-sitemap.xml", "s:url/news:news/news:publication_date")
    assert datetime.fromisoformat(str(first)) == newest.publish_at
    assert old.title not in Client().get("/news-sitemap.xml").text


def test_the_news_sitemap_has_at_most_as_many_articles_as_google_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemaps, "NEWS_LIMIT", 2)
    for number in range(3):
        live(f"No. {number}")
    assert texts("/news-sitemap.xml", "s:url/news:news/news:title") == ["No. 2", "No. 1"]


def test_robots_txt_lists_the_sitemaps() -> None:
    response = Client().get("/robots.txt")
    assert response["Content-Type"].startswith("text/plain")
    lines = response.text.splitlines()
    assert lines[0] == "User-agent: *"
    assert {"Disallow: /admin/", "Disallow: /search/", "Disallow: /api/"} <= set(lines)
    assert {f"Sitemap: {SITE}/sitemap.xml", f"Sitemap: {SITE}/news-sitemap.xml"} <= set(lines)


@pytest.mark.parametrize("number", ["1", "99999999", "9" * 19, "9" * 40, "-1", "x", ""])
def test_empty_sections_give_404(number: str) -> None:
    make_article(status=APPROVED, publish_at=soon(hours=1))
    assert Client().get(f"/sitemap-{number}.xml").status_code == 404


@pytest.mark.parametrize("address", ["/sitemap.xml", "/sitemap-pages.xml", "/news-sitemap.xml"])
def test_an_unchanged_sitemap_gives_304(address: str) -> None:
    live()
    first = Client().get(address)
    assert first["Cache-Control"] == "public, max-age=0"
    for name, header in (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")):
        assert Client().get(address, headers={name: first[header]}).status_code == 304


def test_sitemaps_neither_count_nor_skip(django_assert_max_num_queries: Any) -> None:
    article = live()
    for address in ("/sitemap.xml", f"/sitemap-{article.pk // sitemaps.SECTION}.xml", "/news-sitemap.xml"):
        with django_assert_max_num_queries(5) as queries:
            Client().get(address)
        assert not [query for query in queries.captured_queries if "COUNT(" in query["sql"] or "OFFSET" in query["sql"]]
