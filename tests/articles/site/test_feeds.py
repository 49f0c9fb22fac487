"""Feeds of the site, read by feedparser."""

from __future__ import annotations

import calendar
import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from xml.etree import ElementTree

import feedparser
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import publishing
from articles.models import Article, Channel, Tag
from tests.articles.factories import APPROVED, approve, make_article, make_channel, make_editor, soon
from tests.articles.image_files import make_image

pytestmark = pytest.mark.django_db

Status = Article.Status
FORMS = ("", "atom/", "json/")
ATOM = "{http://www.w3.org/2005/Atom}"


def live(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    return make_article(title, **{"status": Status.PUBLISHED, "publish_at": soon(hours=-1), **values})


def full_article(**values: Any) -> Article:
    """An article with everything that a feed shows."""
    ada = User.objects.create_user("ada.l", first_name="Ada", last_name="Lin")
    article = live("Bridge <b>&</b> 桥", summary="Cars & <lorries>", author=ada, channel=make_channel("Town"), **values)
    article.tags.add(Tag.objects.create(name="高铁"))
    return article


def titles(address: str) -> list[str]:
    """The titles in a feed of any form."""
    response = Client().get(address)
    assert response.status_code == 200, address
    if address.endswith("json/"):
        return [item["title"] for item in json.loads(response.content)["items"]]
    return [entry.title for entry in feedparser.parse(response.content).entries]


@pytest.mark.parametrize("form", FORMS[:2])
def test_a_common_parser_reads_all_of_a_feed(form: str) -> None:
    five, six = (datetime(2026, 3, 1, hour, tzinfo=UTC) for hour in (5, 6))
    article = full_article(publish_at=five, embargo_until=six)
    response = Client().get(f"/feed/{form}")
    feed = feedparser.parse(response.content, response_headers={"content-type": response["Content-Type"]})
    assert not feed.bozo
    assert (feed.version, feed.feed.title) == ("atom10" if form else "rss20", "Headline")
    (entry,) = feed.entries
    assert entry.title == "Bridge <b>&</b> 桥" or entry.title == "Bridge &lt;b&gt;&amp;&lt;/b&gt; 桥"
    assert entry.summary == "Cars &amp; &lt;lorries&gt;"
    assert entry.link == f"http://127.0.0.1:8000{article.get_absolute_url()}"
    assert entry.id == f"http://127.0.0.1:8000/article/{article.pk}/"
    assert entry.author == "Ada Lin" and "ada.l" not in response.text
    assert {tag.term for tag in entry.tags} == {"Town", "高铁"}
    assert calendar.timegm(entry.published_parsed) == six.timestamp()
    selves = [link.href for link in feed.feed.links if link.rel == "self"]
    assert selves == [f"http://127.0.0.1:8000/feed/{form}"]


def test_rss_and_atom_follow_their_specifications() -> None:
    full_article()
    rss = ElementTree.fromstring(Client().get("/feed/").content)
    assert (rss.tag, rss.get("version")) == ("rss", "2.0")
    assert all(
        rss.findtext(f"channel/{name}") for name in ("title", "link", "description", "language", "lastBuildDate")
    )
    assert rss.find("channel/item/guid").get("isPermaLink") == "false"  # type: ignore[union-attr]
    parsedate_to_datetime(rss.findtext("channel/item/pubDate") or "")
    atom = ElementTree.fromstring(Client().get("/feed/atom/").content)
    assert atom.tag == f"{ATOM}feed"
    for node in (atom, atom.find(f"{ATOM}entry")):
        assert node is not None
        assert all(node.findtext(f"{ATOM}{name}") for name in ("id", "title", "updated"))
        assert node.findtext(f"{ATOM}author/{ATOM}name")
        assert datetime.fromisoformat(node.findtext(f"{ATOM}updated") or "").tzinfo


def test_an_entry_without_an_author_has_no_empty_one() -> None:
    """RFC 4287 wants a name in each author; an empty one would hide the feed's."""
    live("Agency copy")
    atom, rss = (ElementTree.fromstring(Client().get(f"/feed/{form}").content) for form in ("atom/", ""))
    entry = atom.find(f"{ATOM}entry")
    assert entry is not None and entry.find(f"{ATOM}author") is None
    assert atom.findtext(f"{ATOM}author/{ATOM}name")
    assert [node.tag for node in rss.find("channel/item") or () if not (node.text or node.attrib)] == []
    assert "authors" not in json.loads(Client().get("/feed/json/").content)["items"][0]


def test_a_json_feed_follows_its_specification() -> None:
    article = full_article()
    response = Client().get("/feed/json/")
    assert response["Content-Type"] == "application/feed+json"
    feed = json.loads(response.content)
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert feed["feed_url"] == "http://127.0.0.1:8000/feed/json/"
    (item,) = feed["items"]
    assert item["id"] == f"http://127.0.0.1:8000/article/{article.pk}/"
    assert item["content_html"] == "Cars &amp; &lt;lorries&gt;"
    assert item["authors"] == [{"name": "Ada Lin"}]
    assert item["tags"] == ["Town", "高铁"]
    assert datetime.fromisoformat(item["date_published"]) == article.publish_at


def test_channels_tags_and_authors_have_feeds_of_their_own() -> None:
    article, other = full_article(), live("Elsewhere", channel=make_channel("Sport"))
    ada = article.author_id
    live("By a pen name", author=article.author, byline="A pen name")
    for form in FORMS:
        assert (
            titles(f"/channel/town/feed/{form}")
            == titles(f"/tag/高铁/feed/{form}")
            == titles(f"/author/{ada}/feed/{form}")
        )
        assert len(titles(f"/author/{ada}/feed/{form}")) == 1
        assert titles(f"/channel/sport/feed/{form}") == [other.title]
        assert len(titles(f"/feed/{form}")) == 3


@pytest.mark.parametrize(
    "address",
    ["/feed/xml/", "/feed/rdf/", "/channel/x/feed/", "/channel/closed/feed/", "/tag/x/feed/", "/tag/secret/feed/json/",
     "/author/1/feed/", f"/author/{'9' * 30}/feed/", "/author/0/feed/atom/", "/tag/%00/feed/",
     "/channel/%F0%9F%97%9E/feed/"],
)  # fmt: skip
def test_feeds_of_unknown_channels_tags_and_authors_do_not_exist(address: str) -> None:
    make_channel("Closed", enabled=False)
    make_article("A draft").tags.add(Tag.objects.create(name="Secret"))
    assert Client().get(address).status_code == 404


def test_an_author_without_live_articles_has_no_feed() -> None:
    ada = User.objects.create_user("ada", first_name="Ada")
    nameless = User.objects.create_user("eve")
    make_article(author=ada, status=APPROVED, publish_at=soon(hours=1))
    live(author=nameless)
    for user in (ada, nameless):
        assert Client().get(f"/author/{user.pk}/feed/").status_code == 404


def test_pages_name_their_feeds() -> None:
    make_channel("Town")
    for form in FORMS:
        assert f'href="/feed/{form}"' in Client().get("/").text
        assert f'href="/channel/town/feed/{form}"' in Client().get("/channel/town/").text


def test_a_cover_is_in_every_feed() -> None:
    article, cover = live(), make_image(make_editor())
    Article.objects.filter(pk=article.pk).update(cover=[str(cover.pk)])
    address = f"http://127.0.0.1:8000{cover.address_in_full}"
    for form in FORMS[:2]:
        (image,) = feedparser.parse(Client().get(f"/feed/{form}").content).entries[0].enclosures
        assert (image.href, image.type, image.length) == (address, "image/jpeg", str(len(cover.read())))
    assert Client().get("/feed/json/").json()["items"][0]["image"] == address


def test_control_characters_of_a_text_break_no_feed() -> None:
    live("Bell \x07 and \x1b escape", summary="\x0c")
    for form in FORMS:
        assert len(titles(f"/feed/{form}")) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_feed_gives_304_until_it_changes(form: str) -> None:
    live()
    first = Client().get(f"/feed/{form}")
    for name, header in (("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")):
        again = Client().get(f"/feed/{form}", headers={name: first[header]})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
    Article.objects.update(status=Status.UNPUBLISHED)
    assert Client().get(f"/feed/{form}", headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_an_empty_feed_stays_the_same() -> None:
    for form in FORMS:
        assert titles(f"/feed/{form}") == []
        assert "2000-01-01" in Client().get("/feed/atom/").text
        assert feedparser.parse(Client().get("/feed/").content).bozo is False


def test_the_query_count_of_a_feed_does_not_depend_on_its_articles() -> None:
    counts = []
    for number in (3, 20):
        for _ in range(number):
            live(channel=Channel.objects.get_or_create(name=f"Channel {number}")[0]).tags.set(Tag.objects.all())
        Tag.objects.create(name=f"Tag {number}")
        with CaptureQueriesContext(connection) as queries:
            Client().get("/feed/")
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 6


def test_a_corrected_article_has_the_same_id_in_the_feed() -> None:
    alice, article = make_editor(), live()
    before = json.loads(Client().get("/feed/json/").content)["items"][0]
    publishing.edit(article, by=alice, changes={"title": "Harbour tunnel reopens", "slug": "tunnel"})
    publishing.submit(article, by=alice)
    approve(article)
    publishing.publish_update(article, by=alice)
    after = json.loads(Client().get("/feed/json/").content)["items"][0]
    assert after["id"] == before["id"]
    assert after["url"] != before["url"]
    assert after["date_modified"] > before["date_modified"]
    assert Client().get(before["url"].removeprefix("http://127.0.0.1:8000")).status_code == 301
