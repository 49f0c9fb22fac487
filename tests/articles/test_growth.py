"""What a text costs grows with its size: each function is given what took too long once, and generated texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from inspect import unwrap
from io import BytesIO
from time import process_time

import pytest
from rest_framework.exceptions import ValidationError

from articles.api.fields import AddressInstantField
from articles.desk.calendar.icalendar import content_line, escaped
from articles.desk.editor.body_field import as_shown
from articles.exchange import fields as imported_fields, ghost_html
from articles.exchange.losses import losses
from articles.exchange.outside_times import parse_time
from articles.exchange.records import Refused
from articles.exchange.wordpress_html import Library, Post, render
from articles.exchange.xml_repair import RepairedXml
from articles.images.html import with_copies
from articles.models import Article
from articles.notes.mentions import Users, parts_of
from articles.publishing.comparison_in_words import notes
from articles.review.text import BodyReader
from articles.review.words import Matcher
from articles.search.highlight import highlighted, snippet
from articles.search.terms import Query, index_terms
from articles.site.feeds.formats import Atom, Json, Rss, fit_for_xml
from articles.templatetags.review import marked
from articles.text import (
    SearchedText,
    Selector,
    add_paragraphs,
    article_ids,
    clean_html,
    compare_bodies,
    foreign_media,
    is_harmless,
    lost_tags,
    merge_bodies,
    one_line,
    plain_form,
    plain_text,
    references,
    sanitize,
    split,
    visible,
    with_live_links,
    with_players,
    without_addresses,
    words,
)
from articles.text.comparison import MOST_ROWS
from articles.text.nesting import limit_nesting
from headline.accounts.sessions import device_of
from headline.log_format import hide_secrets, in_one_line
from tests.growth import INPUTS, Repeated, growing, repeated, seconds

Attack = tuple[Callable[[int], object], int]

FUNCTION_INPUTS = INPUTS // 5

HTML = [
    *("<p>", "</p>", "<div>", "</div>", "<li>", "<ul>", "</ul>", "<dd>", "<dt>", "<b>", "</b>", "<a href=/article/1/>"),
    *("</a>", "<table>", "<tr>", "<td>", "</table>", "<h2>", "<blockquote>", "<br>", "<pre>", "</pre>", "<figure>"),
    *("<img src=/media/a-1.jpeg>", '<img alt="a" src="', "<iframe src=//youtu.be/aqz-KE-bpKQ>", "<object>", "<param>"),
    *("<span style='mso-list:Ignore'>", "<p class=MsoNormal style='mso-list:l0 level1'>", "<o:p>", "<!--", "-->", "<!"),
    *(
        "<script>",
        "</script>",
        "<textarea>",
        "</textarea>",
        "<svg>",
        "<",
        ">",
        "&",
        "&amp;",
        "&#",
        '"',
        "'",
        "=",
        "/",
        ";",
    ),
    *(
        " ",
        "\n",
        "\n\n",
        "\r",
        "\0",
        "a",
        "ab ",
        "1",
        "\u4e2d",
        "\u0301",
        "\u200b",
        "\xad",
        "https://youtu.be/",
        "#x",
        ' id="x"',
    ),
]
"""Tokens of HTML, as people, editors, other programs and attackers write them."""

TEXT = [
    *(
        "a",
        "b ",
        "A1",
        "1",
        "-",
        "_",
        ".",
        ",",
        "'",
        "\u2019",
        " ",
        "\n",
        "\t",
        "\0",
        "\r\n",
        "\\",
        ";",
        ":",
        "/",
        "//",
        "\u4e2d",
        "\u3002",
    ),
    *(
        "\u0301",
        "\u200b",
        "\u200d",
        "\xad",
        "\ufb01",
        "\u1100",
        "\u0130",
        "\U0001f600",
        "\u202e",
        "\u2028",
        "e\u0301",
        "\u212b",
        "\uff21",
    ),
    *(
        "@",
        "@a",
        "@a.b",
        "https://a.b/",
        "/article/1/",
        "localhost/article/1/",
        "Firefox/",
        "token=",
        "://",
        "eyJ",
        "+00:00",
        "T",
    ),
]
"""Tokens of texts without mark-up."""

SHORTCODES = [
    *(
        "[",
        "]",
        "[/",
        "[caption]",
        "[/caption]",
        "[gallery ids=1]",
        "[gallery ",
        "[audio src=/a]",
        "[video]",
        "[embed]",
        "=",
        '"',
    ),
    *(
        "'",
        " ",
        "\n",
        "a",
        "1",
        "<!-- wp:a ",
        "/-->",
        "<sup data-fn=",
        "<sup",
        "<a>",
        "</a>",
        "</sup>",
        "<p>",
        "</p>",
        "<img>",
        "<",
    ),
    *(
        "<figure class=wp-block-embed>",
        "<div>",
        "</div>",
        "</figure>",
        "<figcaption>",
        "https://a.b/",
        "&nbsp;",
        "<br>",
        "data-fn=",
    ),
]
"""Tokens of posts of WordPress."""

QUERY = Query("a b1 \u4e2d\u4e2d")
MATCHER = Matcher(
    [("ab", "block"), ("a b a", "review"), ("\u4e2d\u4e2d", "review"), ("1111111", "block"), ("a", "allow")]
)


@pytest.fixture(autouse=True)
def uncached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time the whole work."""
    monkeypatch.setattr("articles.text.sanitize.limit_nesting", limit_nesting.__wrapped__)
    monkeypatch.setattr("articles.text.sanitize._remembered", unwrap(sanitize._remembered))


def imported(text: str) -> object:
    return render(Post("1", text, "https://a.example", Library()))


def compared(old: str, new: str) -> object:
    return [notes(row) for row in compare_bodies(split(old), split(new))]


def turned(text: str) -> str:
    """The text with its last third first."""
    place = len(text) * 2 // 3
    return text[place:] + text[:place]


def fed(text: str) -> None:
    """Feeds with an entry of this text."""
    day = datetime(2026, 1, 1, tzinfo=UTC)
    text = fit_for_xml(text)
    for form in (Rss, Atom, Json):
        feed = form(text, "/", text, feed_url="/", hubs=[])
        feed.add_item(text, "/", text, pubdate=day, updateddate=day, unique_id=text, categories=[text])
        feed.writeString("utf-8")


def found_again(text: str) -> None:
    """The text as a quote that was edited, in the text."""
    SearchedText(text).find(Selector(turned(text), text[:32], text[-32:]))


def unless_refused(check: Callable[[str], object]) -> Callable[[str], object]:
    def run(text: str) -> None:
        with suppress(ValidationError, Refused):
            check(text)

    return run


FUNCTIONS: Mapping[str, tuple[Callable[[str], object], Sequence[str]]] = {
    "clean_html": (clean_html, HTML),
    "plain_text": (plain_text, HTML),
    "add_paragraphs": (add_paragraphs, HTML),
    "as_shown": (unwrap(as_shown), HTML),
    "lost_tags": (lost_tags, HTML),
    "losses": (losses, HTML),
    "with_players": (with_players, HTML),
    "links": (lambda text: with_live_links(text, {1: "/article/1/a/"}), HTML),
    "images": (lambda text: with_copies(text, lambda address, alt: None), HTML),
    "references": (references, HTML),
    "foreign_media": (lambda text: foreign_media(text, own=[]), HTML),
    "blocks": (split, HTML),
    "compared with nothing": (lambda text: compared(text, ""), HTML),
    "compared": (lambda text: compared(text, turned(text)), HTML),
    "merged": (lambda text: merge_bodies(text, turned(text), f"<p>a</p>{text}").body({}), HTML),
    "merged without base": (lambda text: merge_bodies(None, text, turned(text)).body({}), HTML),
    "reviewed": (BodyReader.read, HTML),
    "snippet": (lambda text: snippet(Article(body=text), QUERY), HTML),
    "marked": (lambda text: marked(text, []), HTML),
    "of WordPress": (imported, SHORTCODES),
    "of Ghost": (
        lambda text: ghost_html.render(
            {"lexical": json.dumps({"root": {"children": [{"type": "text", "text": text}]}})}
        ),
        HTML,
    ),
    "XML": (lambda text: RepairedXml(BytesIO(f"<!DOCTYPE a><a>{text}".encode()), "utf-8").read(), HTML),
    "line of an import": (lambda text: imported_fields.line({"a": text}, "a", 200, []), TEXT),
    "names of an import": (unless_refused(lambda text: imported_fields.names({"a": text}, "a", 50, [])), TEXT),
    "time of an import": (unless_refused(lambda text: parse_time("a", text)), [*TEXT, "2026", "Nov", "+", "("]),
    "time in an address": (unless_refused(AddressInstantField().run_validation), [*TEXT, "2026", "+"]),
    "plain_form": (plain_form, TEXT),
    "visible": (visible, TEXT),
    "one_line": (one_line, TEXT),
    "words": (lambda text: words(text, turned(text)), TEXT),
    "sensitive words": (MATCHER.find, TEXT),
    "index": (index_terms, TEXT),
    "query": (lambda text: Query(text).terms, TEXT),
    "highlighted": (lambda text: highlighted(text, QUERY), TEXT),
    "found again": (found_again, TEXT),
    "addresses": (lambda text: (article_ids(text), without_addresses(text)), TEXT),
    "is_harmless": (is_harmless, TEXT),
    "mentions": (lambda text: [*parts_of(text, Users({"x" * 150: 1}))], TEXT),
    "feeds": (fed, TEXT),
    "calendar": (lambda text: content_line(escaped(text)), TEXT),
    "log": (lambda text: hide_secrets(in_one_line(text)), TEXT),
    "device": (device_of, TEXT),
}
"""What reads texts from outside, and the tokens that the texts are made of."""


KNOWN: Mapping[str, Sequence[Repeated]] = {
    "clean_html": [
        Repeated(" ", "c"),
        *map(
            Repeated,
            ("<dd><p><li>", "<div><!--</div>-->", '<div><br title="</div>">', "<div><textarea></div></textarea>"),
        ),
        *map(
            Repeated, ("<ul><li>", "<rt>", "<div>", "<blockquote>", "<table><tr><td>", "<b>", "<a><b><div>", "<DIV\n>")
        ),
        *map(Repeated, ("<x-y>", "<iframe ", "<iframe src=", "<iframe src='//a' ", "<p> ")),
        *(Repeated(unit, "<p ") for unit in ("mso-list:", " mso-hide:", " MsoTitle")),
    ],
    "plain_text": [Repeated("<div><table><tr><td></div>")],
    "as_shown": [
        Repeated("<p></p>", end="x"),
        *map(Repeated, ("<noscript>", "<object>", "<b style=font-weight:normal>", "<a href=#x id=x>", "<img srcset=")),
        *map(Repeated, ("<img data-src='", "<p class=MsoTitle>", "<p style='mso-list:l0 level1'>", "<xml>Mso")),
        *map(Repeated, ("<p style='mso-list:l0 level1'>x</p>", "<blockquote>\n\n", "<ul>\n\n", "x\n\n<", "<div>\n\n")),
    ],
    "compared with nothing": [Repeated("\n", "<p>", "x")],
    "of WordPress": [
        *(Repeated("a", "[gallery ", "]"), Repeated(" data-fn=", "<sup"), Repeated("a", "[a"), Repeated("[caption]")),
        Repeated(" wp-block-embed", "<figure"),
    ],
    "time in an address": [Repeated("T", end="2026")],
    "calendar": [Repeated(unit, "SUMMARY:") for unit in ("\\", ";", ",", "\n", "\u4e2d", " x")],
    "log": [Repeated(unit) for unit in ("://a", "/admin/reset/a/", "'token':'", "eyJaaaaaaaa-")],
    "device": [Repeated("Firefox")],
}
"""Texts that took quadratic or cubic time."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_text_takes_time_in_proportion_to_its_size(name: str) -> None:
    function, tokens = FUNCTIONS[name]

    assert growing(function, repeated(tokens, most=FUNCTION_INPUTS), KNOWN.get(name, [])) == ""


@pytest.mark.cases(3)
@pytest.mark.parametrize("unit", ["<p>", "<p>a<b>b<i>c", "<ul><li>a", "<p>a</p>", "<table><tr><td>", "<img src=x>"])
@pytest.mark.parametrize("name", ["reviewed", "foreign_media"])
def test_a_text_is_read_in_less_time_than_it_is_cleaned(name: str, unit: str) -> None:
    """Both clean it first; `html.parser` would take several times as long as that."""
    function, _tokens = FUNCTIONS[name]
    text = Repeated(unit).text(40_000)

    times = [(seconds(clean_html, text), seconds(function, text)) for _ in range(5)]

    cleaning, both = map(min, zip(*times, strict=True))
    assert both < 2 * cleaning + 0.005


# Pairs of texts

GROWTH = 3


def _numbered(count: int, end: str, step: int = 1) -> str:
    return "".join(f"<p>{number}{end}</p>" for number in range(count)[::step])


def _table(count: int, cell: str) -> str:
    return f"<table><tbody>{f'<tr><td>a</td><td>{cell}</td></tr>' * count}</tbody></table>"


def _find_notes(count: int) -> None:
    """Notes about a repeated text share the comparisons."""
    line = "".join(map(chr, range(33, 123)))
    searched = SearchedText(line * 60)
    for number in range(count):
        searched.find(Selector(line[:40] + "zz" * 900 + str(number) + line[-40:], line[-32:], line[:32]))


def _seconds(compare: Callable[[int], object], size: int) -> float:
    """Of the processor, the best of three: other programs do not count."""
    return min(seconds(lambda _text: compare(size), "") for _ in range(3))


PAIRS: Mapping[str, tuple[Callable[[int], object], int]] = {
    "repeated words": (lambda size: compared("a " * size, "b a " * size), 400),
    "changed paragraphs": (lambda size: compared(*(_numbered(size, end) for end in ("", "x"))), 500),
    "alike paragraphs": (lambda size: compared(*(_numbered(size, f" a b c d{end}") for end in ("", "x"))), 500),
    "paragraphs in another order": (
        lambda size: compared(_numbered(size, " a b c"), _numbered(size, " a b c", -1)),
        500,
    ),
    "changed formats": (lambda size: compared("<p>" + "<b>a</b> " * size, "<p>" + "<i>a</i> b " * size), 1_000),
    "changed cells": (lambda size: compared(*(_table(size, cell) for cell in ("b", "c"))), 500),
    "repeated blocks": (
        lambda size: merge_bodies("<p>a</p>" * size, "<p>b</p><p>a</p>" * size, "<p>c</p>" * size),
        1_500,
    ),
    "many notes": (_find_notes, 10),
}
"""Inputs that took quadratic or cubic time, by what is compared."""


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", PAIRS)
def test_twice_the_texts_take_about_twice_the_time(name: str) -> None:
    compare, size = PAIRS[name]

    assert _seconds(compare, 2 * size) < GROWTH * _seconds(compare, size) + 0.02


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a b " * 5_000, "b c a " * 5_000),
        (_numbered(3_000, ""), _numbered(3_000, "x")),
        (_table(3_000, "b"), _table(2_000, "c")),
    ],
)
def test_a_document_that_takes_too_many_steps_to_compare_is_replaced(old: str, new: str) -> None:
    begun = process_time()
    rows = compare_bodies(split(old), split(new))

    assert process_time() - begun < 1
    assert len(rows) <= MOST_ROWS + 1
    assert sum(len(row.pieces) + len(row.table) for row in rows) <= 2 * MOST_ROWS + 2
