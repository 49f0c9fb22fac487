"""Percentiles, spread and ratios of the benchmarks."""

from __future__ import annotations

import pytest

from bench.figures import Spread, percentile, ratio, short


def test_a_percentile_is_one_of_the_values() -> None:
    assert percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert percentile(list(range(1, 101)), 0.99) == 99
    assert percentile([7.0], 0.99) == 7.0


def test_spread_has_the_median_and_the_extremes() -> None:
    assert Spread.of([5.0, 1.0, 4.0]) == Spread(4.0, 1.0, 5.0)
    assert str(Spread.of([5.0, 1.0, 4.0])) == "4 (1–5)"
    assert str(Spread.of([2.0])) == "2"
    assert Spread.of([]) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (12345.6, "12,346"), (123.4, "123"), (12.34, "12.3"), (1.234, "1.23"), (0.1234, "0.123"), (20, "20")],
)
def test_numbers_have_three_digits(value: float, text: str) -> None:
    assert short(value) == text


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    """A round in which everything was slow counts like any other."""
    assert ratio([100.0, 10.0, 120.0], [50.0, 5.0, 40.0]) == 2.0
    assert ratio([1.0, 2.0], [2.0]) == 0.5
    assert ratio([1.0], [0.0]) is None
    assert ratio([], []) is None
