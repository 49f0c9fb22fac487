"""Import of feeds: RSS 2.0, RSS 1.0 and Atom, valid and broken."""

from __future__ import annotations

import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.test import Client

from articles.exchange.formats import READERS
from articles.models import Article
from tests.articles.factories import make_article, make_channel, make_user, publish_tasks
from tests.articles.import_files import WXR, Result, counts, post, run_import

pytestmark = pytest.mark.django_db
Status = Article.Status

RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:atom="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>Harbour Gazette</title><link>https://gazette.example/</link>
<atom:link href="https://gazette.example/feed/" rel="self"/><description>News</description>
%s
</channel></rss>"""

ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://gazette.example/news/">
<title>Harbour Gazette</title><link href="https://gazette.example/"/><updated>2024-03-02T00:00:00Z</updated>
<author><name>The desk</name><email>desk@gazette.example</email></author>
%s
</feed>"""

RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
 xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://gazette.example/"><title>Gazette</title><link>https://gazette.example/</link></channel>
%s
</rdf:RDF>"""


def item(number: int = 1, **changes: str) -> str:
    """An item of RSS; a change to "" leaves the element out."""
    elements = {
        "title": f"Story {number}",
        "guid": f"https://gazette.example/?p={number}",
        "pubDate": "Fri, 01 Mar 2024 08:30:00 +0000",
        "description": "&lt;p&gt;Some text.&lt;/p&gt;",
        **changes,
    }
    return f"<item>{''.join(f'<{name}>{text}</{name}>' for name, text in elements.items() if text)}</item>"


def import_feed(folder: Path, template: str, *entries: str) -> Result:
    (folder / "feed.xml").write_text(template % "\n".join(entries), encoding="utf-8")
    return run_import(folder / "feed.xml")


def imported(folder: Path, template: str, entry: str) -> Article:
    """The only article of a feed with this entry."""
    result = import_feed(folder, template, entry)
    assert (result.code, result.lines) == (0, [counts(created=1)])
    return Article.objects.get()


# RSS 2.0


def test_an_item_of_a_feed_becomes_a_published_article(tmp_path: Path) -> None:
    article = imported(
        tmp_path,
        RSS,
        "<item><title>Ships &amp;amp; Tides</title><link>https://gazette.example/tides/</link>"
        "<guid isPermaLink='false'>tides-7</guid><pubDate>Fri, 01 Mar 2024 09:30:00 +0100</pubDate>"
        "<dc:creator>Mei Li</dc:creator><category domain='x'>Uncategorized</category>"
        "<category>Port &amp;amp; Sea</category><category>Tides</category>"
        "<category>Tides</category><description>&lt;em&gt;Short.&lt;/em&gt;</description>"
        "<content:encoded><![CDATA[<p>High <a href='/water/'>water</a>.</p>]]></content:encoded></item>",
    )

    assert (article.title, article.summary, article.byline) == ("Ships & Tides", "Short.", "Mei Li")
    link = '<a href="https://gazette.example/water/" rel="noopener noreferrer">water</a>'
    assert article.body == f"<p>High {link}.</p>"
    assert (article.status, str(article.channel)) == (Status.PUBLISHED, "Port & Sea")
    assert [tag.name for tag in article.tags.all()] == ["Tides"]
    assert article.publish_at == article.published_at == datetime(2024, 3, 1, 8, 30, tzinfo=UTC)
    assert article.external_id == "gazette.example#tides-7"


def test_a_description_without_content_is_the_text(tmp_path: Path) -> None:
    article = imported(tmp_path, RSS, item(description="One line.\n\nAnother line."))

    assert (article.summary, article.body) == ("", "<p>One line.</p>\n\n<p>Another line.</p>")


@pytest.mark.parametrize("words", ["word " * 400, "词" * 600])
def test_a_long_description_beside_a_text_is_shortened_to_a_summary(tmp_path: Path, words: str) -> None:
    article = imported(tmp_path, RSS, item(1, **{"description": words, "content:encoded": "Text."}))

    assert article.summary == f"{words[:499]}…"


def test_an_author_is_found_by_address(tmp_path: Path) -> None:
    mei = make_user("lead")
    mei.email = "mei@gazette.example"
    mei.save()

    article = imported(tmp_path, RSS, item(author="mei@gazette.example (Mei Li)"))

    assert (article.author, article.byline) == (mei, "Mei Li")


@pytest.mark.parametrize(
    ("date", "hour"),
    [
        ("Fri, 01 Mar 2024 08:30:00 GMT", 8), ("Fri, 01 Mar 2024 08:30:00 EST", 13), ("1 Mar 2024 08:30 Z", 8),
        ("Fri, 01 Mar 2024 08:30:00 CEST", 6), ("Fri, 01 Mar 2024 08:30:00 -0000", 8), ("2024-03-01T08:30:00+08:00", 0),
    ],
)  # fmt: skip
def test_dates_are_understood_with_offsets_and_zone_names(tmp_path: Path, date: str, hour: int) -> None:
    assert imported(tmp_path, RSS, item(pubDate=date)).publish_at == datetime(2024, 3, 1, hour, 30, tzinfo=UTC)


def test_an_item_with_a_future_date_is_scheduled(tmp_path: Path) -> None:
    """R0.1"""
    article = imported(tmp_path, RSS, item(pubDate="Fri, 01 Mar 2126 08:30:00 +0000"))

    assert (article.status, publish_tasks(article)) == (Status.APPROVED, [datetime(2126, 3, 1, 8, 30, tzinfo=UTC)])


def test_attached_files_are_below_the_text_unless_it_contains_them(tmp_path: Path) -> None:
    medium = '<media:content url="https://x.example/a.jpg?w=1&amp;h=2" medium="image"/>'
    known = '<enclosure url="https://x.example/in.png" type="image/png" length="1"/>'
    sound = '<enclosure url="/a.mp3" type="audio/mpeg" length="1"/><enclosure url="/a.pdf" type="application/pdf"/>'
    text = item(description="&lt;p&gt;&lt;img src='https://x.example/in.png'&gt;&lt;/p&gt;")

    article = imported(tmp_path, RSS, text.replace("</item>", f"{medium}{known}{sound}</item>"))

    assert article.body.split("\n\n")[1:] == [
        '<figure><img src="https://x.example/a.jpg?w=1&amp;h=2" alt=""></figure>',
        '<figure><audio src="https://gazette.example/a.mp3" controls=""></audio></figure>',
    ]


def test_a_thumbnail_is_used_if_there_are_no_other_images(tmp_path: Path) -> None:
    small, large = '<media:thumbnail url="/s.png"/>', '<media:content url="/l.png" type="image/png"/>'

    import_feed(tmp_path, RSS, item(1, description=f"A{small}"), item(2, description="B", **{"media:x": small + large}))

    first, second = (article.body for article in Article.objects.order_by("pk"))
    assert ("/s.png" in first, "/l.png" in second, "/s.png" in second) == (True, True, False)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"title": "", "description": ""}, "title: is empty"),
        (
            {"guid": ""},
            "guid: is missing, and so is the link; without either, a repeated import would create duplicates",
        ),
        (
            {"guid": "https://gazette.example/?p=1", "title": "Story 1"},
            'external_id: "https://gazette.example/?p=1" is in the file already',
        ),
    ],
)
def test_a_bad_item_is_reported_and_the_others_are_imported(
    tmp_path: Path, changes: dict[str, str], complaint: str
) -> None:
    result = import_feed(tmp_path, RSS, item(1), item(2, **changes), item(3))

    assert (result.code, result.summary) == (1, counts(created=2, failed=1))
    assert result.remarks[0].startswith(f"item 2: failed: {complaint}")


def test_invalid_urls_do_not_stop_the_import(tmp_path: Path) -> None:
    item_with_nonsense = item(link="http://[x", description="&lt;a href='//[z'&gt;z&lt;/a&gt;")
    enclosure = '<enclosure url="//[y" type="image/png"/></item>'

    article = imported(tmp_path, RSS, item_with_nonsense.replace("</item>", enclosure))

    assert article.body.startswith("<p><a")


def test_an_item_nested_too_deeply_is_reported_and_the_others_are_imported(tmp_path: Path) -> None:
    deep = f'<content type="xhtml">{"<div>" * 50_000}{"</div>" * 50_000}</content>'
    entry = "<entry><title>One</title><id>%s</id><updated>2024-03-01T08:30:00Z</updated>%s</entry>"

    result = import_feed(tmp_path, ATOM, entry % (1, deep), entry % (2, ""))

    assert (result.code, result.summary) == (1, counts(created=1, failed=1))
    assert result.remarks == ["item 1: failed: its elements are nested too deep"]


def test_a_link_of_any_length_replaces_a_missing_guid(tmp_path: Path) -> None:
    long = f"https://gazette.example/{'x' * 300}"
    import_feed(tmp_path, RSS, item(1, guid="", link="https://gazette.example/1"), item(2, guid="", link=long))

    assert import_feed(tmp_path, RSS, item(3, guid=long), item(4, guid=f"{long}y")).summary == counts(
        created=1, updated=1
    )
    assert Article.objects.filter(external_id="https://gazette.example/1").exists()


def test_a_repeated_import_adds_new_entries(tmp_path: Path) -> None:
    import_feed(tmp_path, RSS, item(1), item(2))

    assert import_feed(tmp_path, RSS, item(2), item(3)).summary == counts(created=1, skipped=1)


# Atom


def test_an_entry_of_atom_becomes_a_published_article(tmp_path: Path) -> None:
    article = imported(
        tmp_path,
        ATOM,
        '<entry><title type="html">Ships &amp;amp; &lt;b&gt;Tides&lt;/b&gt;</title><id>tag:gazette.example,2024:7</id>'
        "<published>2024-03-01T08:30:00.5Z</published><updated>2024-03-09T08:30:00Z</updated>"
        "<summary>A &lt; b</summary>"
        '<category term="port" label="Port"/><category term="tides"/><link rel="edit" href="/edit/7"/>'
        '<author><name>Mei Li</name></author><author><name>Ola</name></author>'
        '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>High<br/><img src="a.png"/></p></div>'
        "</content></entry>",
    )  # fmt: skip

    assert (article.title, article.summary, article.byline) == ("Ships & Tides", "A < b", "Mei Li, Ola")
    assert article.body == '<p>High<br><img src="https://gazette.example/news/a.png"></p>'
    assert article.publish_at == datetime(2024, 3, 1, 8, 30, 0, 500_000, tzinfo=UTC)
    assert (str(article.channel), [tag.name for tag in article.tags.all()]) == ("Port", ["tides"])
    assert article.external_id == "tag:gazette.example,2024:7"


def test_an_entry_has_the_author_of_its_feed_and_the_date_of_its_change_if_it_has_none(tmp_path: Path) -> None:
    article = imported(
        tmp_path,
        ATOM,
        "<entry><title>Tom &amp; &lt;Jerry&gt;</title><id>7</id><updated>2024-03-01T08:30:00+00:00</updated>"
        '<link rel="enclosure" type="image/png" href="b.png"/><content type="text">A &lt; b</content></entry>',
    )

    assert (article.title, article.byline) == ("Tom & <Jerry>", "The desk")
    image = '<figure><img src="https://gazette.example/news/b.png" alt=""></figure>'
    assert article.body == f"<p>A &lt; b</p>\n\n{image}"
    assert article.publish_at == datetime(2024, 3, 1, 8, 30, tzinfo=UTC)


# RSS 1.0


def test_an_item_of_rss_1_becomes_a_published_article(tmp_path: Path) -> None:
    article = imported(
        tmp_path,
        RDF,
        '<item rdf:about="https://gazette.example/7"><title>Tides</title><link>https://gazette.example/7</link>'
        "<description>High.</description><dc:date>2024-03-01T08:30:00Z</dc:date><dc:subject>Port</dc:subject>"
        "<dc:creator>Mei Li</dc:creator></item>",
    )

    assert (article.title, article.body, article.byline) == ("Tides", "<p>High.</p>", "Mei Li")
    assert (article.external_id, str(article.channel)) == ("https://gazette.example/7", "Port")


# Our own


@pytest.mark.parametrize("address", ["/feed/", "/feed/atom/"])
def test_our_own_feeds_can_be_imported(tmp_path: Path, client: Client, address: str) -> None:
    when = datetime(2024, 3, 1, 8, 30, tzinfo=UTC)
    make_article(
        "Tides & <ships>", summary="High & dry", body="<p>High.</p>", status=Status.PUBLISHED, publish_at=when,
        published_at=when, channel=make_channel("Port & Sea"), byline="Mei Li",
    )  # fmt: skip
    (tmp_path / "feed").write_bytes(client.get(address).content)
    Article.objects.all().delete()

    result = run_import(tmp_path / "feed")

    assert (result.code, result.lines) == (0, [counts(created=1)])
    article = Article.objects.get()
    assert (article.title, article.byline, str(article.channel)) == ("Tides & <ships>", "Mei Li", "Port & Sea")
    assert article.publish_at == when


# Files


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ((RSS % item(1))[:-30].encode(), "The XML is not well-formed"),
        (b"\x1f\x8b\x08\x00", "is compressed; unpack it first"),
        (b"PK\x03\x04", "is compressed; unpack it first"),
        ((RSS % item(title="Caf\u00e9")).encode("latin-1"), "encoding cannot be read"),
        (b"<html><body><p>Moved</p></body></html>", "not a WordPress export"),
        ((RSS % item(1)).replace("<rss", '<!DOCTYPE r [<!ENTITY a "lol">]><rss', 1).encode(), "defines entities"),
        (
            (RSS % item(1)).replace("<rss", '<!DOCTYPE r SYSTEM "r"[]><rss', 1).encode(),
            "document type",
        ),
    ],
)
def test_an_unreadable_file_imports_nothing(tmp_path: Path, content: bytes, complaint: str) -> None:
    (tmp_path / "feed.xml").write_bytes(content)

    result = run_import(tmp_path / "feed.xml")

    assert (result.code, result.lines) == (2, [])
    assert complaint in result.error
    assert not Article.objects.exists()


def test_other_xml_is_not_imported_as_a_feed(tmp_path: Path) -> None:
    """Drafts of an export of WordPress would be published."""
    (tmp_path / "a.xml").write_text(WXR % post(1, status="draft"), encoding="utf-8")
    (tmp_path / "a.rss").write_text("<html></html>")

    assert "use --format wxr" in run_import(tmp_path / "a.xml", "--format", "rss").error
    assert "neither RSS nor Atom" in run_import(tmp_path / "a.rss").error
    assert run_import(tmp_path / "a.xml").code == 0


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "gb18030", "gb2312", "gbk", "big5"])
def test_the_declared_encoding_of_a_feed_is_used(tmp_path: Path, encoding: str) -> None:
    title = "Caf\u00e9" if encoding == "iso-8859-1" else "港灣" if encoding == "big5" else "港湾大桥"
    text = (RSS % item(title=title)).replace("UTF-8", encoding)
    (tmp_path / "feed.xml").write_bytes(text.encode(encoding))

    result = run_import(tmp_path / "feed.xml")

    assert result.code == 0, result
    assert Article.objects.get().title == title


def test_an_empty_feed_holds_no_articles(tmp_path: Path) -> None:
    assert import_feed(tmp_path, ATOM).lines == [counts()]


def test_scripts_do_not_survive_an_import(tmp_path: Path) -> None:
    text = "&lt;p onclick='x()'&gt;Hi&lt;script&gt;x()&lt;/script&gt;&lt;/p&gt;"

    result = import_feed(tmp_path, RSS, item(description=text))

    note = "note: 1 record: <script> is removed from the text: programs do not run here"
    assert result.lines == [note, counts(created=1)]
    assert Article.objects.get().body == "<p>Hi</p>"


@pytest.mark.cases(1)
@pytest.mark.parametrize("template", [RSS, RDF])
def test_reading_takes_little_memory_for_any_size_of_file(tmp_path: Path, template: str) -> None:
    (tmp_path / "large").write_text(template % "".join(item(n, description="Ferry news. " * 300) for n in range(400)))

    tracemalloc.start()
    assert sum(1 for _record in READERS["rss"](tmp_path / "large", encoding="utf-8")) == 400
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < (tmp_path / "large").stat().st_size / 5
