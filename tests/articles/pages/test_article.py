"""The article page: related articles, JSON-LD and Open Graph."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import publishing
from articles.models import LINES, Article, Correction, Tag, Update
from articles.pages.related import MAX_PER_TAG, RELATED
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_user, soon
from tests.articles.image_files import make_image, shown

pytestmark = pytest.mark.django_db

Status = Article.Status


def live(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-1), **values})


def tagged(title: str, *tags: Tag, hours: float = 1, **values: Any) -> Article:
    article = live(title, publish_at=soon(hours=-hours), **values)
    article.tags.set(tags)
    return article


def tags(*names: str) -> list[Tag]:
    return [Tag.objects.create(name=name) for name in names]


def related(article: Article) -> list[str]:
    page = Client().get(article.get_absolute_url())
    return [other.title for other in page.context["related"]]


def json_ld(article: Article) -> dict[str, Any]:
    """Its structured data."""
    text = Client().get(article.get_absolute_url()).text
    (script,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL)
    data: dict[str, Any] = json.loads(script)
    return data


def meta(text: str) -> dict[str, str]:
    """What other sites read."""
    found = re.findall(r'<meta (?:property|name)="([\w:]+)" content="([^"]*)">', text)
    return {name: unescape(content) for name, content in found}


def full_article(**values: Any) -> Article:
    """One with all that a page can show."""
    editor, author = make_editor(), User.objects.create_user("ada.log-in", first_name="Ada", last_name="Lin")
    covers = [make_image(editor, f"Ship {number}") for number in range(3)]
    body = shown(make_image(editor, "A bridge")) + "<p>Text</p>"
    article = live("Bridge <b>&</b> 桥", channel=make_channel(), author=author, body=body, summary="A “&” b", **values)
    Article.objects.filter(pk=article.pk).update(cover_mode="three", cover=[str(cover.pk) for cover in covers])
    article.tags.set(tags("Harbour", "桥"))
    for number in range(2):
        values = {"revision": article.revisions.get(), "published_at": soon(minutes=-number)}
        Correction.objects.create(article=article, note=f"It was {number}.", **values)
    return Article.objects.get(pk=article.pk)


def test_related_articles_have_the_most_common_tags_then_are_the_newest_of_the_channel() -> None:
    rain, snow, wind = tags("Rain", "Snow", "Wind")
    town = make_channel()
    article = tagged("This one", rain, snow, channel=town)
    tagged("One in common", rain, hours=2)
    tagged("Two in common, and older", rain, snow, hours=9)
    tagged("Another tag", wind, hours=0.5)
    for hours in (5, 4, 3):
        live(f"Of the channel, {hours}", publish_at=soon(hours=-hours), channel=town)
    assert related(article) == [
        "Two in common, and older",
        "One in common",
        "Of the channel, 3",
        "Of the channel, 4",
    ]


def test_related_articles_are_live_and_distinct() -> None:
    (rain,) = tags("Rain")
    town = make_channel()
    article = tagged("This one", rain, channel=town)
    tagged("Both", rain, channel=town)
    for values in ({"status": Status.UNPUBLISHED}, {"publish_at": soon(hours=1)}, {"embargo_until": soon(hours=1)}):
        make_article(
            "Hidden", **{"status": APPROVED, "publish_at": soon(hours=-1), "channel": town, **values}
        ).tags.add(rain)
    assert related(article) == ["Both"]


def test_the_query_count_of_a_page_does_not_depend_on_its_tags() -> None:
    """With covers, images, corrections, tags, related articles, the menu and the next change."""
    article = full_article()
    costs = []
    for number in (RELATED, 2 * MAX_PER_TAG):
        for place in range(number):
            tagged(f"Other {place}", *article.tags.all())
        with CaptureQueriesContext(connection) as queries:
            text = Client().get(article.get_absolute_url()).text
        costs.append(len(queries))
    assert costs == [6, 6]
    for expected in ("It was 0.", "It was 1.", "Harbour", "A bridge", "Ship 2", "Ada Lin", "Read next"):
        assert expected in text
    assert "ada.log-in" not in text


def test_an_article_has_json_ld() -> None:
    article = full_article(publish_at=datetime(2026, 3, 1, 5, tzinfo=UTC))
    data, site = json_ld(article), "http://127.0.0.1:8000"
    assert data["@type"] == "NewsArticle"
    assert data["headline"] == "Bridge <b>&</b> 桥"
    assert data["datePublished"] == "2026-03-01T05:00:00+00:00"
    assert data["dateModified"] == article.modified_at.isoformat()
    assert data["mainEntityOfPage"] == data["url"] == site + article.get_absolute_url()
    assert data["author"] == {"@type": "Person", "name": "Ada Lin", "url": f"{site}/author/{article.author_id}/"}
    assert data["publisher"]["name"] == "Headline"
    assert len(data["image"]) == 6
    assert all(address.startswith(site) for address in data["image"])
    assert data["keywords"] == ["Harbour", "桥"]


def test_json_ld_names_only_authors_that_the_page_names() -> None:
    assert json_ld(live(author=make_user("alice")))["author"]["name"] == "Headline"
    assert json_ld(live(byline="By the wire"))["author"] == {"@type": "Organization", "name": "By the wire"}


def test_the_end_of_an_embargo_is_the_publication_date() -> None:
    article = live(embargo_until=soon(minutes=-5))
    assert json_ld(article)["datePublished"] == article.embargo_until.isoformat()  # type: ignore[union-attr]


def test_a_headline_cannot_end_the_script() -> None:
    evil = "</script><script>alert(1)</script><!--\u2028 & \\u003c"
    article = live(evil, summary=evil)
    text = Client().get(article.get_absolute_url()).text
    assert json_ld(article)["headline"] == json_ld(article)["description"] == evil
    assert "<script>alert" not in text
    assert "\u2028" not in text[text.index("ld+json") : text.index("</script>", text.index("ld+json"))]


def test_an_article_has_open_graph_tags() -> None:
    article = full_article()
    text = Client().get(article.get_absolute_url()).text
    data, address = meta(text), f"http://127.0.0.1:8000{article.get_absolute_url()}"
    assert f'<link rel="canonical" href="{address}">' in text
    assert (data["og:type"], data["og:url"], data["og:title"]) == ("article", address, "Bridge <b>&</b> 桥")
    assert data["og:description"] == "A “&” b"
    assert data["og:image"] == f"http://127.0.0.1:8000{article.covers[0].address(article.covers[0].shared)}"
    assert (data["og:image:width"], data["og:image:alt"]) == ("1200", "Ship 0")
    assert data["twitter:card"] == "summary_large_image"
    assert (data["twitter:title"], data["twitter:description"]) == (data["og:title"], data["og:description"])


def test_search_and_social_texts_replace_headline_and_summary_for_others_than_readers() -> None:
    texts = {"search_title": "Found & <b>", "social_title": "Shared & <b>", "social_summary": "Short"}
    article = live("Harbour bridge", summary="Ships wait.", **texts)
    text = Client().get(article.get_absolute_url()).text
    data = meta(text)
    assert "<title>Found &amp; &lt;b&gt; · Headline</title>" in text and "<h1>Harbour bridge</h1>" in text
    assert data["description"] == "Ships wait."
    assert data["og:title"] == data["twitter:title"] == "Shared & <b>"
    assert data["og:description"] == data["twitter:description"] == "Short"
    assert (json_ld(article)["headline"], json_ld(article)["alternativeHeadline"]) == ("Harbour bridge", "Found & <b>")


def test_search_and_social_texts_are_shown_once_they_are_approved() -> None:
    article, editor = live("Harbour bridge"), make_editor()
    publishing.edit(article, by=editor, changes={name: "Zeppelin" for name in LINES if name.startswith("s")})
    for address in (article.get_absolute_url(), "/", "/feed/", "/api/v1/articles/", f"/api/v1/articles/{article.pk}/"):
        assert "Zeppelin" not in Client().get(address).text
    update = Update.objects.get()
    update.approved, update.draft = update.draft, None
    update.save()
    publishing.publish_update(article, by=editor)
    assert "<title>Zeppelin" in Client().get(article.get_absolute_url()).text


@pytest.mark.parametrize(
    ("address", "canonical"), [("/", "/en/"), ("/channel/town/", "/channel/town/"), ("/tag/rain/", "/tag/rain/")]
)
def test_a_list_has_open_graph_tags(address: str, canonical: str) -> None:
    (rain,) = tags("Rain")
    tagged("This one", rain, channel=make_channel("Town", description="Of the town"))
    text = Client().get(f"{address}?utm_source=x").text
    data = meta(text)
    assert data["og:url"] == f"http://127.0.0.1:8000{canonical}"
    assert f'<link rel="canonical" href="http://127.0.0.1:8000{canonical}">' in text
    assert data["og:title"] and data["og:description"] and data["twitter:card"] == "summary"


def test_a_text_has_the_attribute_of_its_language() -> None:
    for title, language in (("国产大飞机", "zh"), ("Harbour bridge", "en")):
        article = live(title)
        assert f'<article class="story" data-id="{article.pk}" lang="{language}">' in (
            Client().get(article.get_absolute_url()).text
        )


def test_readers_see_when_an_article_was_updated() -> None:
    article = live()
    assert "Updated" not in Client().get(article.get_absolute_url()).text, "stored with its date"
    moment = soon(minutes=-5).replace(microsecond=0)
    Article.objects.update(text_changed_at=moment)
    page = Client().get(article.get_absolute_url()).text
    found = re.search(r'Updated <time datetime="([^"]+)">', page)
    assert found
    assert datetime.fromisoformat(found[1]) == moment
    Article.objects.update(text_changed_at=soon(hours=-2))
    assert "Updated" not in Client().get(article.get_absolute_url()).text, "it was not out yet"


@pytest.mark.parametrize("changes", [{"summary": "It is open."}, {}])
def test_readers_see_that_an_article_was_corrected_even_at_once(changes: dict[str, str]) -> None:
    article, editor = live(), make_editor()
    publishing.edit(article, by=editor, changes=changes, correction="It was closed.")
    update = Update.objects.get()
    update.approved, update.draft = update.draft, None
    update.save()
    publishing.publish_update(article, by=editor)
    page = Client().get(article.get_absolute_url()).text
    assert "It was closed." in page and "Updated <time" in page


def test_the_caption_of_an_embed_is_the_name_of_its_site() -> None:
    address = "https://www.youtube.com/watch?v=aqz-KE-bpKQ"
    page = Client().get(live(body=f"<p>{address}</p>").get_absolute_url()).text
    assert f'<figcaption><a href="{address}">YouTube</a></figcaption>' in page
    assert f">{address}<" not in page
