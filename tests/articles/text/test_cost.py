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
from articles.text import SearchedText, Selector, clean_html, merged, passages, plain_text, readable

GROWTH = 3.0
"""More than linear time, which doubles, and less than quadratic time, which is four times as long."""

Attack = tuple[Callable[[int], object], int]


def imported(text: str) -> object:
    return render(Post("1", text, "https://a.example", Library()))


def compared(old: str, new: str) -> object:
    return passages(readable(old), readable(new))


ATTACKS: dict[str, Attack] = {
    "repeated words": (lambda size: compared("a " * size, "b a " * size), 400),
    "changed paragraphs": (lambda size: compared(*(_numbered(size, end) for end in ("", "x"))), 500),
    "line ends after a tag": (lambda size: readable("<p>" + "\n" * size + "x"), 8_000),
    "repeated blocks": (lambda size: merged("<p>a</p>" * size, "<p>b</p><p>a</p>" * size, "<p>a</p>" * size), 1_500),
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


def _numbered(count: int, end: str) -> str:
    return "".join(f"<p>{number}{end}</p>" for number in range(count))


def _seconds(attack: Callable[[int], object], size: int) -> float:
    """Of the processor, the best of three: other programs do not count."""
    return min(_once(attack, size) for _ in range(3))


def _once(attack: Callable[[int], object], size: int) -> float:
    begun = process_time()
    with suppress(ValidationError):
        attack(size)
    return process_time() - begun


def test_a_document_that_takes_too_many_steps_to_compare_is_replaced() -> None:
    old, new = "a b " * 5_000, "b c a " * 5_000

    found = passages(old, new)

    assert "".join(piece.text for passage in found for piece in passage.old) == old
    assert "".join(piece.text for passage in found for piece in passage.new) == new
    assert sum(len(passage.pieces) for passage in found) < 10


def test_many_notes_about_a_repeated_text_share_the_comparisons() -> None:
    line = "".join(map(chr, range(33, 123)))
    text, quotes = line * 60, [line[:40] + "zz" * 900 + str(number) + line[-40:] for number in range(40)]

    def find(count: int) -> None:
        searched = SearchedText(text)
        for quote in quotes[:count]:
            searched.find(Selector(quote, line[-32:], line[:32]))

    assert _seconds(find, 40) < GROWTH * _seconds(find, 10) + 0.02
