"""Sanitising HTML from outside."""

from __future__ import annotations

import random
import re

import pytest
from pytest_django import Settings

from articles.text import nesting
from articles.text.embeds import with_players
from articles.text.nesting import limit_nesting
from articles.text.sanitize import add_paragraphs, clean_html, foreign_tags, lost_tags, plain_text


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        ("<p>Plain</p>", "<p>Plain</p>"),
        ("<script>x()</script><style>p{}</style>Text", "Text"),
        ('<p onmouseover="x()" style="color:red" class="a">T</p>', "<p>T</p>"),
        ('<img src="https://x.example/a.jpg" alt="A" onerror="x()">', '<img src="https://x.example/a.jpg" alt="A">'),
        ('<img src="data:text/html,x">', "<img>"),
        ('<a href="java&#10;script:x()">T</a>', '<a rel="noopener noreferrer">T</a>'),
        ('<a href="/local">T</a>', '<a href="/local" rel="noopener noreferrer">T</a>'),
        ("<!-- wp:more --><form><input></form><iframe></iframe><p>T", "<p>T</p>"),
        ("5 < 6 & 7 > 2", "5 &lt; 6 &amp; 7 &gt; 2"),
        ("<svg><a xlink:href='javascript:x()'>T</a></svg>", ""),
        (
            '<p><iframe width="560" src="//player.example/1"></iframe></p>',
            '<p><a href="https://player.example/1" rel="noopener noreferrer">https://player.example/1</a></p>',
        ),
        ('<iframe src="javascript:x()"></iframe><iframe srcdoc="<p>x"></iframe>T', "T"),
        ("<figure><figcaption>港口</figcaption></figure>", "<figure><figcaption>港口</figcaption></figure>"),
    ],
)
def test_only_allowed_tags_stay(dirty: str, clean: str) -> None:
    assert clean_html(dirty) == clean


@pytest.mark.parametrize("cite", ["javascript:alert(1)", "vbscript:x", " java\tscript:x", "data:text/html,x"])
@pytest.mark.parametrize("tag", ["q", "blockquote"])
def test_a_cite_has_an_allowed_scheme(tag: str, cite: str) -> None:
    assert clean_html(f'<{tag} CITE="{cite}" title="a:b">x</{tag}>') == f'<{tag} title="a:b">x</{tag}>'
    for source in ("https://a.example/1", "/article/7/", "?a:b"):
        assert clean_html(f'<{tag} cite="{source}">x</{tag}>') == f'<{tag} cite="{source}">x</{tag}>'


LINK = '<a href="%s" rel="noopener noreferrer">%s</a>'


@pytest.mark.parametrize(
    ("dirty", "clean"),
    [
        (
            '<img src="data:image/gif;base64,R0" data-src="https://x.example/a.jpg" alt="A">'
            '<noscript><img src="https://x.example/a.jpg" alt="A"></noscript>',
            '<img src="https://x.example/a.jpg" alt="A">',
        ),
        ('<img class="lazy"> <noscript><img src="/a.jpg"></noscript>', '<img src="/a.jpg">'),
        ("<img data-lazy-src='/a.jpg' src='/blank.gif'>", '<img src="/a.jpg">'),
        ('<img srcset="/a.jpg 1x, /b.jpg 2x">', '<img src="/a.jpg">'),
        ('<img src="/own.jpg" srcset="/b.jpg 2x" alt="x > y">', '<img src="/own.jpg" alt="x &gt; y">'),
        ("<noscript>Text &lt;b&gt;</noscript>", "Text &lt;b&gt;"),
        ("<noscript><script>x()</script></noscript>T", "T"),
        ("<xmp>a <b>b</b></xmp>", "<pre>a <b>b</b></pre>"),
        ("<textarea>a<img src=x onerror=x()></textarea>", 'a<img src="x">'),
        (
            '<object width="4"><param name="movie" value="http://www.youtube.com/v/aqz-KE-bpKQ&amp;hl=en">'
            '<embed src="http://www.youtube.com/v/aqz-KE-bpKQ&amp;hl=en"></object>',
            LINK % (("https://www.youtube.com/watch?v=aqz-KE-bpKQ",) * 2),
        ),
        ("<embed src=//film.example/1.swf>T", LINK % (("https://film.example/1.swf",) * 2) + "T"),
        ("<iframe src=https://p.example/1></iframe>", LINK % (("https://p.example/1",) * 2)),
        ("<iframe data-src='//p.example/1'></iframe>", LINK % (("https://p.example/1",) * 2)),
        ('<object data="javascript:x()">Fallback</object>', "Fallback"),
        ('<a href="#n">1</a><p id="n">N</p>', LINK % ("#anchor-n", "1") + '<p id="anchor-n">N</p>'),
        ("<a href=#n>1</a><a name=n>N</a><p id=m>M</p>", LINK % ("#anchor-n", "1") + '<a id="anchor-n">N</a><p>M</p>'),
        ('<p><a href="#gone">1</a></p>', "<p>" + LINK % ("#gone", "1") + "</p>"),
        ('<b style="font-weight:normal" id="docs-internal-guid-1">A <b>B</b></b> <b>C</b>', "A <b>B</b> <b>C</b>"),
        (
            '<b style="font-weight:normal;"><p>A <span style="font-weight:700">B</span></p></b>',
            "<p>A <strong>B</strong></p>",
        ),
    ],
)
def test_what_readers_saw_elsewhere_is_kept(dirty: str, clean: str) -> None:
    found = (
        clean_html(dirty)
        .replace('<a rel="noopener noreferrer"', "<a")
        .replace(' rel="noopener noreferrer" id="anchor-n"', ' id="anchor-n"')
        .replace(' id="anchor-n" rel="noopener noreferrer"', ' id="anchor-n"')
    )

    assert found == clean
    assert clean_html(clean_html(dirty)) == clean_html(dirty)


def test_sanitising_is_idempotent() -> None:
    once = clean_html('<h2>A</h2>\n\n\n<p>B <a href="https://x.example">C</a></p><table><tr><td colspan="2">D</table>')

    assert clean_html(once) == once


def test_removed_tags_are_reported() -> None:
    assert foreign_tags("<div><p>A<script>x()</script><object></object> 1 &lt;form 2</p></div>") == ["object", "script"]


@pytest.mark.parametrize(
    ("body", "tags"),
    [
        ("<form><input></form><svg/>", ["form", "input", "svg"]), ("<script>x</script>", ["script"]),
        ("<object><param name=x></object>", ["object"]), ("<iframe></iframe>", ["iframe"]),
        ("<embed src='https://v.example/1.swf'>", []), ("<noscript><textarea>A</textarea></noscript>", []),
        ("<html><body><main><p>A<o:p></o:p></p></main></body></html>", []), ("<x-gallery>A</x-gallery>", ["x-gallery"]),
    ],
)  # fmt: skip
def test_only_what_is_lost_of_other_programs_html_is_named(body: str, tags: list[str]) -> None:
    assert lost_tags(body) == tags


WORD = "<p class=MsoListParagraph style='mso-list:l0 level%d lfo1'>%s%s</p>\n"
MARK = "<![if !supportLists]><span style='mso-list:Ignore'>%s<span style='font:7.0pt x'>&nbsp; </span></span><![endif]>"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("<p class=MsoTitle>Report</p>", "<h2>Report</h2>"),
        ("<p class=MsoNormal>A<o:p></o:p></p><p class=MsoNormal><o:p>&nbsp;</o:p></p>", "<p>A</p>"),
        (WORD % (1, MARK % "·", "A") + WORD % (1, MARK % "·", "B"), "<ul><li>A</li><li>B</li></ul>"),
        (WORD % (1, MARK % "1.", "A") + WORD % (1, MARK % "2.", "B"), "<ol><li>A</li><li>B</li></ol>"),
        (
            WORD % (1, MARK % "·", "A") + WORD % (2, MARK % "a)", "B") + WORD % (1, MARK % "·", "C"),
            "<ul><li>A<ol><li>B</li></ol></li><li>C</li></ul>",
        ),
        (WORD % (2, "", "A") + "<p>B</p>", "<ul><li><ul><li>A</li></ul></li></ul><p>B</p>"),
        ("<p class=MsoNormal>A <span style='mso-hide:all'>page 7</span></p>", "<p>A </p>"),
        ("<xml><w:View>Normal</w:View></xml><title>T</title><p class=MsoNormal>A</p>", "<p>A</p>"),
        ("<!--[if gte mso 9]><xml>x</xml><![endif]--><p class=MsoNormal>A</p>", "<p>A</p>"),
        ("<p style='mso-list:none'>A</p>", "<p>A</p>"),
    ],
)
def test_leftovers_of_word_are_removed_and_its_lists_are_lists(body: str, shown: str) -> None:
    assert clean_html(body) == shown


@pytest.mark.parametrize(
    "body",
    [
        "<object><param name=movie value='http://www.youtube.com/v/AbCdEfGhIjK'></object>",
        "<embed src=https://www.youtube.com/v/AbCdEfGhIjK>", "<p class=MsoNormal>https://www.youtube.com/watch?v=AbCdEfGhIjK",
    ],
)  # fmt: skip
def test_a_long_text_is_repaired_as_a_short_one(body: str) -> None:
    assert "https://www.youtube.com/watch?v=AbCdEfGhIjK" in clean_html("<p>x</p>" * 20 + body)


def alone(address: str) -> str:
    return clean_html(f'<p>Before</p><p><a href="{address}">{address}</a></p>')


@pytest.mark.parametrize(
    ("address", "player"),
    [
        ("https://www.youtube.com/watch?v=aqz-KE-bpKQ", "https://www.youtube-nocookie.com/embed/aqz-KE-bpKQ"),
        ("https://www.youtube.com/watch?t=9s&amp;v=aqz-KE-bpKQ", "https://www.youtube-nocookie.com/embed/aqz-KE-bpKQ"),
        ("https://youtu.be/aqz-KE-bpKQ?si=x", "https://www.youtube-nocookie.com/embed/aqz-KE-bpKQ"),
        ("https://vimeo.com/76979871", "https://player.vimeo.com/video/76979871"),
        ("https://www.bilibili.com/video/BV1xx411c7mD/", "https://player.bilibili.com/player.html?bvid=BV1xx411c7mD"),
        (
            "https://player.bilibili.com/player.html?aid=1&amp;bvid=BV1xx411c7mD",
            "https://player.bilibili.com/player.html?bvid=BV1xx411c7mD",
        ),
    ],
)
def test_a_url_of_an_allowed_site_alone_in_its_paragraph_becomes_an_embed(address: str, player: str) -> None:
    shown = with_players(alone(address))
    assert f'<button type="button" data-player="{player}"' in shown
    assert "<iframe" not in shown
    assert "The video is loaded from" in shown
    assert f'<a href="{address}">' in shown
    assert "<p>Before</p>" in shown


@pytest.mark.parametrize(
    "body",
    [
        alone("https://evil.example/watch?v=aqz-KE-bpKQ"),
        alone("https://www.youtube.com.evil.example/watch?v=aqz-KE-bpKQ"),
        alone("https://evil.example/https://youtu.be/aqz-KE-bpKQ"),
        alone("https://www.youtube.com/watch?v=tooshort"),
        '<p>See <a href="https://youtu.be/aqz-KE-bpKQ">https://youtu.be/aqz-KE-bpKQ</a></p>',
        '<p><a href="https://youtu.be/aqz-KE-bpKQ">the film</a></p>',
    ],
)
def test_other_urls_are_unchanged(body: str) -> None:
    assert with_players(body) == body


def test_the_allowed_sites_are_a_setting(settings: Settings) -> None:
    settings.EMBEDS = [("House", r"https://video\.example/(\d+)", "https://video.example/player/{}")]
    assert with_players(alone("https://youtu.be/aqz-KE-bpKQ")) == alone("https://youtu.be/aqz-KE-bpKQ")
    assert 'data-player="https://video.example/player/7"' in with_players(alone("https://video.example/7"))


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One", "<p>One</p>"),
        ("One\r\nmore\r\n\r\n\r\nTwo", "<p>One<br>more</p>\n\n<p>Two</p>"),
        ("One\n\n<blockquote>Said</blockquote>\n\nTwo", "<p>One</p>\n\n<blockquote>Said</blockquote>\n\n<p>Two</p>"),
        ("<p>One</p>\n\nTwo", "<p>One</p>\n\n<p>Two</p>"),
        ("One\n\n<pre>a\n\nb</pre>\n\nTwo", "<p>One</p>\n\n<pre>a\n\nb</pre>\n\n<p>Two</p>"),
        ("<h2>H</h2>\nText\nmore", "<h2>H</h2>\n\n<p>Text<br>more</p>"),
        ("A\n<ul>\n<li>x</li>\n\n<li>y</li>\n</ul>", "<p>A</p>\n\n<ul>\n<li>x</li>\n\n<li>y</li>\n</ul>"),
        ("<table>\n\n<tr><td>1</td></tr></table>\n\nB", "<table>\n\n<tr><td>1</td></tr></table>\n\n<p>B</p>"),
        ("<blockquote>A\n\nB</blockquote>", "<blockquote><p>A</p><p>B</p></blockquote>"),
        ("<div>A\n\nB</div>", "<div>\n\n<p>A</p>\n\n<p>B</p>\n\n</div>"),
        ("<p>One<p>Two", "<p>One\n\n<p>Two"),
        ("<b><p>One</p></b>", "<b>\n\n<p>One</p>\n\n</b>"),
        ("<ul><li>a<ul><li>b</li></ul></li></ul>\nC", "<ul><li>a<ul><li>b</li></ul></li></ul>\n\n<p>C</p>"),
        ("<b>One</b>", "<p><b>One</b></p>"),
        ("  ", ""),
    ],
)
def test_blank_lines_separate_paragraphs_of_plain_text(text: str, html: str) -> None:
    assert add_paragraphs(text) == html


# Deep nesting

DEEP = ["<ul><li>", "<rt>", "<div>", "<blockquote>", "<table><tr><td>", "<b>", "<a><b><div>", "<DIV\n>", "<x-y>"]


def test_unclosed_formatting_does_not_multiply() -> None:
    text = "".join(f"<p><b class=c{number}>x</p>" for number in range(20_000))

    assert len(clean_html(text)) < 12 * len(text)


@pytest.mark.parametrize("tags", DEEP)
def test_no_text_is_lost_by_the_limits(tags: str) -> None:
    text = "".join(f"{tags} {number} " for number in range(300))

    assert [int(word) for word in plain_text(text).split()] == list(range(300))
    assert plain_text(clean_html(text)).split() == plain_text(text).split()


@pytest.mark.parametrize(
    "text",
    [
        "<p>" + "<b>x</b> <i>y</i>" * 200 + "</p>",
        "<ul>" + "<li><b>x</b></li>" * 300 + "</ul>",
        "<blockquote><p>x</p></blockquote>" * 300,
        "<table><tbody>" + "<tr><td>x</td></tr>" * 300 + "</tbody></table>",
        "<ul><li>" * 20 + "x" + "</li></ul>" * 20,
    ],
)
def test_ordinary_articles_are_not_limited(text: str) -> None:
    assert clean_html(text) == text


def test_unclosed_tags_lose_only_formatting() -> None:
    shown = clean_html("<p>one" * 300 + '<a href="https://a.example">link</a><img src="https://a.example/1.jpg">')

    assert shown.count("<p>") == 300
    assert 'href="https://a.example"' in shown
    assert "<img" in shown


PIECES = (
    "<p>", "</p>", "<P>", "<p>x <b>y</b></p>", '<a href="x">l</a>', '<a href="x">', "</a>", "<b>", "</b>", "<b >q</b>",
    " t ", "\n\n", "<div>", "</div>", "<table>", "<td>", "</table>", "<h2>", "</h2>", "<ul>", "<li>", "<script>",
    '<p class="a>b">', "<br>", "<i><u>z</u></i>", "<!-- c -->", "&lt;", "<", "<b>" * 120,
)  # fmt: skip


def test_paragraphs_that_are_passed_over_would_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    documents = ["".join(chance.choices(PIECES, k=chance.randint(12, 30))) for _ in range(300)]
    passed_over = [limit_nesting(document) for document in documents]
    monkeypatch.setattr(nesting, "_FLAT", re.compile(r"(?!)"))
    assert passed_over == [limit_nesting(document) for document in documents]
