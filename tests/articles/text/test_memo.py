"""Results that are kept: of many short texts, of a few long ones."""

from __future__ import annotations

import pytest

from articles.text import remembered


@pytest.mark.parametrize(("length", "most"), [(100, 32), (1_000_000, 4)])
def test_the_last_texts_are_remembered_and_no_more(length: int, most: int) -> None:
    asked = []

    @remembered
    def function(text: str) -> str:
        asked.append(text)
        return text

    texts = [f"{number:0{length}}" for number in range(most + 1)]
    for text in [*texts, *texts[1:]]:
        assert function(text) == text
    assert asked == texts
    function(texts[0])
    assert asked == [*texts, texts[0]]
