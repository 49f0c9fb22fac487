"""No regular expression of the product takes more than linear time, whatever text it is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from tests.growth import growing
from tests.headline.regular_expressions import METHODS, Expression, expressions

KNOWN: Mapping[str, Mapping[str, Any]] = {
    "articles/desk/articles/search.py": {"pattern": "a"},
    "articles/exchange/formats.py": {METHODS: {"match"}},
    "articles/exchange/outside_times.py": {METHODS: {"fullmatch"}},
    "articles/exchange/validate.py": {"address": "https://a/"},
    "articles/templatetags/review.py": {"found": ["a", "ab"]},
    "articles/text/article_links.py": {"here": r"(?i:(?:https?:)?//a\.b|\ba\.b)|(?<![\w./:%~-])", "path": "/article/"},
    "articles/text/embeds.py": {"pattern": "a"},
    "articles/text/nesting.py": {"name": "iframe"},
    "headline/env.py": {"known": ["a"], "pattern": "a"},
}
"""Examples of what expressions are built from at run time, and how those without a name are used."""


def test_every_regular_expression_takes_linear_time() -> None:
    found = expressions(KNOWN)

    assert len(found) > 150
    assert [f"{one.place}: {shown}" for one in found if (shown := growing(one.run, one.inputs))] == []


@pytest.mark.cases(1)
@pytest.mark.parametrize("pattern", [r"<sup\b[^<>]*\bdata-fn=[^<>]*>", r"(?:a|a)*b"])
def test_those_that_took_longer_are_found(pattern: str) -> None:
    slow = Expression("", re.compile(pattern))

    assert growing(slow.run, slow.inputs) != ""


@pytest.mark.parametrize("pattern", [r"(?<=>)\s++(?=<)", r"<[^<>]*+>", r"[\w-]+", r"(?:a|b)+c?"])
def test_linear_ones_are_not_found(pattern: str) -> None:
    linear = Expression("", re.compile(pattern))

    assert growing(linear.run, linear.inputs) == ""
