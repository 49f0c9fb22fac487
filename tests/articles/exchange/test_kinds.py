"""Ten more inputs of each kind of public bug report about other news systems, read and checked without a database."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import pytest

from articles.exchange import READERS, Checker, PastDue, Record, Timetable
from articles.exchange.digest import ImportedArticle
from articles.models import Article
from articles.text import add_paragraphs, clean_html
from tests.articles.import_files import WXR, post

Status = Article.Status
NOW = datetime(2026, 11, 26, tzinfo=UTC)
DATED = "<pubDate>Thu, 02 Jan 2020 10:00:00 GMT</pubDate>"
ATOM = "http://www.w3.org/2005/Atom"
Read = Callable[..., list[ImportedArticle]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """The articles of a file with this content."""

    def found(form: str, content: str | bytes) -> list[ImportedArticle]:
        (tmp_path / "file").write_bytes(content.encode() if isinstance(content, str) else content)
        checker = Checker(Timetable(now=NOW, past_due=PastDue.HOLD))
        records = READERS[form](tmp_path / "file", encoding="utf-8")
        return [checker.check(record)[0] for record in records if isinstance(record, Record)]

    return found


def rss(*items: str, link: str = "https://x.example/") -> str:
    return f"<rss><channel><link>{link}</link>{''.join(f'<item>{item}</item>' for item in items)}</channel></rss>"


def test_local_dates_of_wordpress(read: Read) -> None:
    past = [
        "2019-01-02 11:04:05",
        "2019-01-02 11:04",
        "2019-01-02T11:04:05",
        "1999-12-31 23:59:59",
        "2024-02-29 00:00:00",
    ]
    none = [
        "2019-02-30 11:04:05",
        "2019-13-01 00:00:00",
        "0219-01-02 11:04:05",
        "2126-01-01 00:00:00",
        "02.01.2019 11:04",
    ]
    posts = (
        post(n, date="0000-00-00 00:00:00", terms=f"<wp:post_date>{date}</wp:post_date>")
        for n, date in enumerate(past + none)
    )

    found = read("wxr", WXR % "".join(posts))

    assert [one.publish_at for one in found] == [datetime.fromisoformat(date).replace(tzinfo=UTC) for date in past] + [
        None
    ] * 5
    assert [one.status for one in found] == [Status.PUBLISHED] * 5 + [Status.DRAFT] * 5


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("A\n\n<pre>x\n\ny</pre>\n\nB", 2),
        ("A\n\nB\n\n<p>C</p>", 3),
        ("A\n\n<ul><li>x</li>\n\n<li>y</li></ul>\n\nB", 2),
        ("<h2>H</h2>\n\nA\n\nB", 2),
        ("<blockquote>A\n\nB</blockquote>", 2),
        ("A\n\n<table><tr><td>x</td></tr></table>\nB", 2),
        ("A\r\n\r\nB\r\rC", 3),
        ("A\n\n\n\n\nB", 2),
        ("<div>A\n\nB</div>\n\nC", 3),
        ("A\n<hr>\nB", 2),
    ],
)
def test_paragraphs_of_classic_posts(text: str, count: int) -> None:
    shown = clean_html(add_paragraphs(text))
    assert (shown.count("<p>"), shown.count("<p></p>")) == (count, 0)


@pytest.mark.parametrize(
    "guid", ["1", "x", "https://x.example/?p=1", "urn:x:1", "tag:x,2020:1", "港", "🔥", "y" * 300, "a b", "1#post-2"]
)
def test_copied_guids(read: Read, guid: str) -> None:
    item = f"<title>%s</title><guid>{guid}</guid>{DATED}<description>A</description>"
    pair = (post(n).replace(f"https://gazette.example/?p={n}", guid) for n in (1, 2))

    assert len({one.external_id for one in read("rss", rss(item % "A", item % "B"))}) == 2
    assert len({one.external_id for one in read("wxr", WXR % "".join(pair))}) == 2


@pytest.mark.parametrize("part", ["x", "%e6", "港", "🔥", "a/", "?p=", "é", ".", "-", "&amp;"])
def test_long_guids(read: Read, part: str) -> None:
    items = (f"<guid>https://x.example/{part * 250}{n}</guid><title>A</title>{DATED}" for n in (1, 2))

    found = {one.external_id for one in read("rss", rss(*(f"{item}<description>A</description>" for item in items)))}

    assert (len(found), max(map(len, found)) <= 191) == (2, True)


@pytest.mark.parametrize(
    "name",
    [
        "title",
        "summary",
        "byline",
        "channel",
        "tags",
        "search_title",
        "social_title",
        "kicker",
        "author",
        "status_reason",
    ],
)
def test_long_lines(read: Read, name: str) -> None:
    line = json.dumps({"external_id": "1", "title": "A", "body": "<p>Text</p>"} | {name: "harbour " * 200})

    (found,) = read("jsonl", line)

    assert found.body == "<p>Text</p>"


LAZY = [
    '<img src="data:image/gif;base64,R0" data-src="%s" alt="Fog">',
    '<img data-lazy-src="%s" alt="Fog">',
    "<img src='' data-original='%s' alt='Fog'>",
    '<img srcset="%s 300w, https://o/2.jpg 600w" alt="Fog">',
    '<noscript><img src="%s" alt="Fog"></noscript>',
    '<img alt="Fog" data-srcset="%s 1x">',
    '<img src="data:," data-src="%s" alt="Fog"><noscript><img src="%s" alt="Fog"></noscript>',
    '<IMG SRC="data:x" DATA-SRC="%s" ALT="Fog">',
    '<img src="blank.gif" data-src="%s" alt="Fog">',
    '<figure><noscript><img src="%s" alt="Fog"></noscript></figure>',
]


@pytest.mark.parametrize("markup", LAZY)
@pytest.mark.parametrize("around", ["%s", "<p>x</p>" * 20 + "%s"])
def test_lazy_images(markup: str, around: str) -> None:
    shown = clean_html(around % markup.replace("%s", "https://o.example/fog.jpg"))
    assert (shown.count("<img"), shown.count("&lt;")) == (1, 0)
    assert re.search(r'<img (?=[^>]*src="https://o.example/fog.jpg")[^>]*alt="Fog"', shown)


@pytest.mark.parametrize(
    "markup",
    [
        '<embed src="%s">',
        "<embed src=%s></embed>",
        "<object data='%s'></object>",
        "<iframe src=%s></iframe>",
        '<object><param name="movie" value="%s"></object>',
        '<object><param name=src value=%s><embed src="%s"></object>',
        '<iframe data-src="%s"></iframe>',
        "<IFRAME SRC='%s'></IFRAME>",
        '<div><object data="%s"><p>x</p></object></div>',
        '<iframe width=1 src="%s" allowfullscreen></iframe>',
    ],
)
@pytest.mark.parametrize("around", ["%s", "<p>x</p>" * 20 + "%s"])
def test_old_videos(markup: str, around: str) -> None:
    shown = clean_html(around % markup.replace("%s", "//www.youtube.com/v/AbCdEfGhIjK"))
    assert shown.count('href="https://www.youtube.com/watch?v=AbCdEfGhIjK"') == 1


@pytest.mark.parametrize(
    "target",
    [
        '<a name="n">1</a>',
        '<a id="n">1</a>',
        '<h2 id="n">1</h2>',
        "<p id=n>1</p>",
        "<A NAME='n'>1</A>",
        '<li id="n">1</li>',
        '<sup id="n">1</sup>',
        '<a href="#m" name="n">1</a>',
        '<td id="n">1</td>',
        '<p class="x" id="n">1</p>',
    ],
)
def test_links_within_a_page(target: str) -> None:
    placed = f"<table><tr>{target}</tr></table>" if "<td" in target else target
    shown = clean_html(f'<p><a href="#n">to</a></p>{placed}')
    links, ids = re.findall(r'href="#([^"]+)"', shown), re.findall(r' id="([^"]+)"', shown)
    assert (links[0] in ids, "n" in ids) == (True, False)


@pytest.mark.parametrize(
    "style",
    [
        "font-weight:normal",
        "font-weight: normal;",
        "FONT-WEIGHT:400",
        "color:red;font-weight:normal",
        "font-weight:normal;",
    ],
)
@pytest.mark.parametrize("bold", ["font-weight:700", "font-weight: bold"])
def test_texts_of_google_docs(style: str, bold: str) -> None:
    text = (
        f'<b style="{style}"><p><span style="font-weight:400">Plain </span><span style="{bold}">strong</span></p></b>'
    )
    assert clean_html(text) == "<p>Plain <strong>strong</strong></p>"


@pytest.mark.parametrize(
    ("control", "is_draft"),
    [
        ("yes", True),
        ("YES", True),
        (" yes ", True),
        ("Yes\n", True),
        ("no", False),
        ("", False),
        ("NO", False),
        ("true", False),
        ("<!-- x -->yes", True),
        ("&#121;es", True),
    ],
)
def test_drafts_of_atom(read: Read, control: str, is_draft: bool) -> None:
    entry = (
        "<entry><id>urn:x</id><title>A</title><published>2020-01-01T00:00:00Z</published><content>x</content>"
        f"<a:control><a:draft>{control}</a:draft></a:control></entry>"
    )

    (found,) = read("rss", f'<feed xmlns="{ATOM}" xmlns:a="http://www.w3.org/2007/app">{entry}</feed>')

    assert (found.status == Status.DRAFT) == is_draft


@pytest.mark.parametrize(
    "kind", ["comment", "settings", "template", "page", "x", "postcard", "COMMENT", "filter", "pingback", "post2"]
)
def test_kinds_of_blogger(read: Read, kind: str) -> None:
    scheme, term = "http://schemas.google.com/g/2005#kind", f"http://schemas.google.com/blogger/2008/kind#{kind}"
    category = f'<category scheme="{scheme}" term="{term}"/>'
    entry = f"<entry><id>urn:x</id><title>A</title><published>2020-01-01T00:00:00Z</published>{category}</entry>"

    assert read("rss", f'<feed xmlns="{ATOM}">{entry}</feed>') == []


def test_an_export_of_blogger_by_takeout(read: Read) -> None:
    """Empty elements, a type of the author, too, a headline that is escaped twice, and the address."""
    entry = """<entry><id>tag:blogger.com,1999:blog-4.post-%s</id><blogger:type>%s</blogger:type>
        <blogger:status>%s</blogger:status><author><name>Ada</name><blogger:type>BLOGGER</blogger:type></author>
        <title>Fog &amp;amp; &amp;#39;rain&amp;#39;</title><content type="html">&lt;p&gt;Thick.&lt;/p&gt;</content>
        <blogger:metaDescription>About fog.</blogger:metaDescription><published>2020-06-18T01:45:55.218Z</published>
        <blogger:location/><category/><blogger:filename>/2020/06/thick-fog.html</blogger:filename><link/><enclosure/>
        </entry>"""
    states = [("POST", "LIVE"), ("POST", "DRAFT"), ("POST", "SOFT_TRASHED"), ("PAGE", "LIVE"), ("COMMENT", "LIVE")]
    entries = "".join(entry % (number, *state) for number, state in enumerate(states))
    feed = f'<feed xmlns="{ATOM}" xmlns:blogger="http://schemas.google.com/blogger/2018">{entries}</feed>'

    live, draft = read("rss", feed)
    assert (live.status, draft.status) == (Status.PUBLISHED, Status.DRAFT)
    assert (live.lines["title"], live.lines["summary"], live.slug) == ("Fog & 'rain'", "About fog.", "thick-fog")


@pytest.mark.parametrize(
    "date",
    [
        "",
        "0000-00-00",
        "0000-00-00 00:00:00",
        "0000-00-00T00:00:00Z",
        "Mon, 30 Nov -0001 00:00:00 +0000",
        "0001-01-01T00:00:00Z",
        "Sat, 01 Jan 0000 00:00:00 GMT",
        "-0001-11-30T00:00:00Z",
        "Mon, 01 Jan 0001 00:00:00 +0000",
        " 0000-00-00 00:00:00 ",
    ],
)
def test_zero_dates(read: Read, date: str) -> None:
    (found,) = read("rss", rss(f"<guid>1</guid><title>A</title><pubDate>{date}</pubDate><description>x</description>"))
    assert (found.status, found.publish_at) == (Status.DRAFT, None)


@pytest.mark.parametrize(
    ("offset", "hour"),
    [
        ("+08", 2),
        ("-05", 15),
        ("+00", 10),
        ("+14", -4),
        ("-12", 22),
        ("GMT+08", 2),
        ("UTC+8", 2),
        ("+08:00", 2),
        ("+1", None),
        ("+080", None),
    ],
)
def test_short_offsets(read: Read, offset: str, hour: int | None) -> None:
    item = f"<guid>1</guid><title>A</title><pubDate>Mon, 02 Mar 2020 10:00:00 {offset}</pubDate>"

    (found,) = read("rss", rss(f"{item}<description>x</description>"))

    wanted = None if hour is None else datetime(2020, 3, 2 if hour >= 0 else 1, hour % 24, tzinfo=UTC)
    assert found.publish_at == wanted


@pytest.mark.parametrize(
    ("encoding", "title"),
    [
        ("GBK", "港湾"),
        ("gb2312", "港湾"),
        ("GB18030", "𠮷港"),
        ("Big5", "港灣"),
        ("Shift_JIS", "港"),
        ("EUC-KR", "항구"),
        ("EUC-JP", "港"),
        ("windows-1251", "Порт"),
        ("ISO-8859-15", "Hafen €"),
        ("KOI8-R", "Порт"),
    ],
)
def test_encodings(read: Read, encoding: str, title: str) -> None:
    feed = rss(f"<guid>1</guid><title>{title}</title>{DATED}<description>x</description>")

    (found,) = read("rss", f'<?xml version="1.0" encoding="{encoding}"?>{feed}'.encode(encoding))

    assert found.lines["title"] == title


@pytest.mark.parametrize(
    "start", ["\n", "\n\n", "\r\n", " ", "\t\n", "\ufeff", "\ufeff\n", "\n" * 500, "\n<!-- x -->", "\n\n<!DOCTYPE rss>"]
)
def test_what_stands_before_the_first_element(read: Read, start: str) -> None:
    head = '<?xml version="1.0"?>' if not start.endswith(">") else ""
    assert (
        len(read("rss", start + head + rss(f"<guid>1</guid><title>A</title>{DATED}<description>x</description>"))) == 1
    )


@pytest.mark.parametrize(
    "title",
    [
        "",
        "<title/>",
        "<title> </title>",
        "<title>&#8203;</title>",
        "<title>&#160;</title>",
        "<title>&#12644;</title>",
        "<title><![CDATA[]]></title>",
        "<title>&#8288;</title>",
        "<title>\n</title>",
        "<title>&lt;b&gt;&lt;/b&gt;</title>",
    ],
)
def test_missing_headlines(read: Read, title: str) -> None:
    (found,) = read("rss", rss(f"<guid>1</guid>{title}{DATED}<description>Low water tonight</description>"))
    assert found.lines["title"] == "Low water tonight"


@pytest.mark.parametrize("guid", ["1701", "0", "x", "港", "post-1", "1.5", "a/b", "id:1", "2020-01-01", "?p=1"])
def test_guids_that_two_feeds_share(read: Read, guid: str) -> None:
    feeds = (
        rss(f"<guid>{guid}</guid><title>A</title>{DATED}<description>x</description>", link=f"https://{host}.example")
        for host in "ab"
    )
    assert len({read("rss", feed)[0].external_id for feed in feeds}) == 2


@pytest.mark.parametrize(
    "line",
    [
        "sep=;\r\n",
        "sep=;\n",
        '"sep=;"\n',
        "SEP=;\n",
        "Sep=;  \n",
        "\ufeffsep=;\r\n",
        "",
        "\ufeff",
        "sep=,\n",
        "sep=\t\n",
    ],
)
def test_first_lines_of_spreadsheets(read: Read, line: str) -> None:
    separator = next((one for one in ",\t" if f"={one}" in line), ";")
    (found,) = read("csv", f"{line}title{separator}body\nOne{separator}Text\n")
    assert (found.lines["title"], found.body) == ("One", "<p>Text</p>")


def test_markup_in_headlines_stays_text(read: Read) -> None:
    titles = ["2 < 3", "A & B", "Q&A", "x<y", "«»", "5 > 4", "a;b", "1 &amp; 2", "#7", "'quoted'"]
    items = (
        f"<guid>{n}</guid><title>{escape(title)}</title>{DATED}<description>x</description>"
        for n, title in enumerate(titles)
    )
    assert [one.lines["title"].replace("1 & 2", "1 &amp; 2") for one in read("rss", rss(*items))] == titles
