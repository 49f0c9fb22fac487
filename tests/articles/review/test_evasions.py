"""Two hundred disguised words that are found, and two hundred ordinary texts that pass; see docs/review.md."""

from __future__ import annotations

import re

import pytest

from articles.review.words import Matcher
from tests.harness import base_dir

DATA = base_dir / "tests" / "articles" / "data"


def lines(name: str) -> list[str]:
    """The lines of a file of data, in which invisible characters are written as escapes."""
    rows = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), row).replace(r"\n", "\n") for row in rows]


def pairs(name: str) -> list[tuple[str, str]]:
    """The two columns of a file of data."""
    return [(first, second) for first, second in (row.split("\t") for row in lines(name))]


MATCHER = Matcher((text, level) for level, text in pairs("words.txt"))


@pytest.mark.cases(60)
@pytest.mark.parametrize(("word", "text"), pairs("evasions.txt"))
def test_a_disguised_word_is_found(word: str, text: str) -> None:
    """R5.1"""
    assert word in [match.word for match in MATCHER.find(text)]


@pytest.mark.cases(60)
@pytest.mark.parametrize("text", lines("innocent.txt"))
def test_an_innocent_text_passes(text: str) -> None:
    """R5.1"""
    assert [(match.word, text[match.start : match.end]) for match in MATCHER.find(text)] == []


def test_there_are_two_hundred_of_each() -> None:
    assert len(set(lines("evasions.txt"))) >= 200
    assert len(set(lines("innocent.txt"))) >= 200
