"""Foreign HTML made fit to be shown."""

from __future__ import annotations

import pytest

from articles.html import add_paragraphs, clean_html


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
        ("<figure><figcaption>港口</figcaption></figure>", "<figure><figcaption>港口</figcaption></figure>"),
    ],
)
def test_only_what_is_listed_stays(dirty: str, clean: str) -> None:
    assert clean_html(dirty) == clean


def test_cleaning_twice_changes_nothing_more() -> None:
    once = clean_html('<h2>A</h2>\n\n\n<p>B <a href="https://x.example">C</a></p><table><tr><td colspan="2">D</table>')

    assert clean_html(once) == once


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One", "<p>One</p>"),
        ("One\r\nmore\r\n\r\n\r\nTwo", "<p>One<br>more</p>\n\n<p>Two</p>"),
        ("One\n\n<blockquote>Said</blockquote>\n\nTwo", "<p>One</p>\n\n<blockquote>Said</blockquote>\n\n<p>Two</p>"),
        ("<p>One</p>\n\nTwo", "<p>One</p>\n\nTwo"),
        ("<b>One</b>", "<p><b>One</b></p>"),
        ("  ", ""),
    ],
)
def test_blank_lines_part_paragraphs_of_plain_text(text: str, html: str) -> None:
    assert add_paragraphs(text) == html


def test_endless_white_space_is_read_once() -> None:
    """Read anew from each of its characters, it would take minutes."""
    assert clean_html("c" + " " * 1_000_000) == "c"
