"""A quoted passage is found again after edits of it and of the text around it."""

from __future__ import annotations

import pytest

from articles.text import SearchedText, Selector

TEXT = (
    "The harbour bridge reopens on Monday after two years of repairs. The city paid 40 million for new cables.\n"
    "Ferries stop running at midnight. The mayor said the bridge is safe, and thanked the engineers."
)
CHINESE = "跨海大桥周一重新开放，维修历时两年。市政府为新缆索支付了四千万元。渡轮将于午夜停航。"


def quoted(quote: str, text: str = TEXT) -> Selector:
    """The selector of a passage of the text."""
    start = text.index(quote)
    end = start + len(quote)
    return Selector(quote, text[max(0, start - 32) : start], text[end : end + 32])


def found(text: str, selector: Selector) -> str | None:
    passage = SearchedText(text).find(selector)
    return passage.quote if passage else None


@pytest.mark.parametrize(
    ("quote", "old", "new", "passage"),
    [
        ("40 million", "40 million", "45 million", "45 million"),
        ("Monday", "Monday", "22 November", "22 November"),
        ("Ferries stop running at midnight.", "midnight", "two o'clock", "Ferries stop running at two o'clock."),
        ("The harbour bridge", "The harbour", "Our old", "Our old bridge"),
        ("the engineers.", "the engineers.", "all workers.", "all workers."),
        ("safe", "The mayor said the bridge", "She says it", "safe"),
        ("paid 40 million for new cables", "The city paid 40", "Taxpayers paid 44", "paid 44 million for new cables"),
    ],
)
def test_an_edited_passage_is_found(quote: str, old: str, new: str, passage: str) -> None:
    assert found(TEXT.replace(old, new), quoted(quote)) == passage


def test_a_moved_and_edited_passage_is_found() -> None:
    first, second = TEXT.split("\n")
    moved = f"{second}\n{first}".replace("running at midnight", "service at midnight")
    assert found(moved, quoted("Ferries stop running at midnight.")) == "Ferries stop service at midnight."


def test_of_equal_passages_the_one_in_its_place_is_found() -> None:
    text = "He said yes. They laughed. She said yes. It rained."
    selector = Selector("said yes", "They laughed. She ", ". It rained.")
    passage = SearchedText(text).find(selector)
    assert passage and passage.prefix.endswith("She ")


@pytest.mark.parametrize("gone", [" Ferries stop running at midnight.", TEXT, ""])
def test_a_deleted_passage_is_not_found(gone: str) -> None:
    text = TEXT.replace("\nFerries stop running at midnight.", "") if gone else ""
    text = "Something else." if gone == TEXT else text
    assert found(text, quoted("Ferries stop running at midnight.")) is None


@pytest.mark.parametrize(
    ("old", "new", "passage"),
    [("四千万元", "五千万元", "五千万元"), ("支付了四千万元", "花费四千万", "四千万"), ("渡轮", "轮渡", "四千万元")],
)
def test_chinese_passages_are_found(old: str, new: str, passage: str) -> None:
    assert found(CHINESE.replace(old, new), quoted("四千万元", CHINESE)) == passage


def test_white_space_makes_no_difference() -> None:
    assert found(TEXT.replace(" ", "\n\n"), quoted("new cables.\nFerries stop")) == "new\n\ncables.\nFerries\n\nstop"


@pytest.mark.parametrize(("text", "prefix", "suffix"), [("Ships", "Ships", ""), ("Ships", "", "Ships"), ("", "", "")])
def test_between_the_neighbours_of_a_deleted_passage_is_none(text: str, prefix: str, suffix: str) -> None:
    assert SearchedText(text).find(Selector("harbour", prefix, suffix)) is None
