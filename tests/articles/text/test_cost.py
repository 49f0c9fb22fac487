"""What a text costs grows with its size: each growth is that of twice the text, whatever the machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from time import process_time

import pytest
from rest_framework.exceptions import ValidationError

from articles.api.fields import AddressInstantField
from articles.desk.editor.body_field import as_shown
from articles.exchange.wordpress_html import Library, Post, render
from articles.text import SearchedText, Selector, clean_html, compare_bodies, merge_bodies, plain_text, split
from articles.text.comparison import MOST_ROWS

GROWTH = 3.0
"""More than linear time, which doubles, and less than quadratic time, which is four times as long."""

Attack = tuple[Callable[[int], object], int]


def imported(text: str) -> object:
    return render(Post("1", text, "https://a.example", Library()))


def compared(old: str, new: str) -> object:
    return compare_bodies(split(old), split(new))


ATTACKS: dict[str, Attack] = {
    "repeated words": (lambda size: compared("a " * size, "b a " * size), 400),
    "changed paragraphs": (lambda size: compared(*(_numbered(size, end) for end in ("", "x"))), 500),
    "alike paragraphs": (lambda size: compared(*(_numbered(size, f" a b c d{end}") for end in ("", "x"))), 500),
    "paragraphs in another order": (
        lambda size: compared(_numbered(size, " a b c"), _numbered(size, " a b c", -1)),
        500,
    ),
    "changed formats": (lambda size: compared("<p>" + "<b>a</b> " * size, "<p>" + "<i>a</i> b " * size), 1_000),
    "changed cells": (lambda size: compared(*(_table(size, cell) for cell in ("b", "c"))), 500),
    "line ends after a tag": (lambda size: compared("<p>" + "\n" * size + "x", ""), 8_000),
    "repeated blocks": (
        lambda size: merge_bodies("<p>a</p>" * size, "<p>b</p><p>a</p>" * size, "<p>c</p>" * size),
        1_500,
    ),
    "items in paragraphs": (lambda size: clean_html("<dd><p><li>" * size), 5_000),
    "end tags in comments": (lambda size: clean_html("<div><!--</div>-->" * size), 5_000),
    "end tags in attributes": (lambda size: clean_html('<div><br title="</div>">' * size), 5_000),
    "end tags in text areas": (lambda size: clean_html("<div><textarea></div></textarea>" * size), 4_000),
    "end tags outside of a table": (lambda size: plain_text("<div><table><tr><td></div>" * size), 4_000),
    "empty paragraphs": (lambda size: as_shown("<p></p>" * size + "x"), 8_000),
    "letters of a time": (lambda size: AddressInstantField().run_validation("T" * size + "2026"), 4_000),
    "names in a shortcode": (lambda size: imported(f"[gallery {'a' * size}]"), 8_000),
    "attributes of a footnote": (lambda size: imported("<sup" + " data-fn=" * size), 4_000),
}
"""Inputs that took quadratic or cubic time, by what they repeat."""


@pytest.mark.parametrize("name", ATTACKS)
def test_twice_the_text_takes_about_twice_the_time(name: str) -> None:
    attack, size = ATTACKS[name]

    assert _seconds(attack, 2 * size) < GROWTH * _seconds(attack, size) + 0.02


def _numbered(count: int, end: str, step: int = 1) -> str:
    return "".join(f"<p>{number}{end}</p>" for number in range(count)[::step])


def _table(count: int, cell: str) -> str:
    return f"<table><tbody>{f'<tr><td>a</td><td>{cell}</td></tr>' * count}</tbody></table>"


def _seconds(attack: Callable[[int], object], size: int) -> float:
    """Of the processor, the best of three: other programs do not count."""
    return min(_once(attack, size) for _ in range(3))


def _once(attack: Callable[[int], object], size: int) -> float:
    begun = process_time()
    with suppress(ValidationError):
        attack(size)
    return process_time() - begun


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


def test_many_notes_about_a_repeated_text_share_the_comparisons() -> None:
    line = "".join(map(chr, range(33, 123)))
    text, quotes = line * 60, [line[:40] + "zz" * 900 + str(number) + line[-40:] for number in range(40)]

    def find(count: int) -> None:
        searched = SearchedText(text)
        for quote in quotes[:count]:
            searched.find(Selector(quote, line[-32:], line[:32]))

    assert _seconds(find, 40) < GROWTH * _seconds(find, 10) + 0.02
