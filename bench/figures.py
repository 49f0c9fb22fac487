"""Percentiles, spread, ratios and a text table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least `part` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1]


@dataclass(frozen=True)
class Spread:
    """The median of some rounds and their extremes."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread | None:
        """The spread of the values, None without any."""
        return cls(statistics.median(values), min(values), max(values)) if values else None

    def __str__(self) -> str:
        if self.least == self.most:
            return short(self.median)
        return f"{short(self.median)} ({short(self.least)}–{short(self.most)})"


def short(value: float) -> str:
    """Three significant digits, and separators in thousands."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    digits = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(digits, 3)}f}".rstrip("0").rstrip(".")


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """The median of the ratios of each round, so that a slow minute of the machine hits both; None without any."""
    pairs = [one / other for one, other in zip(ours, theirs, strict=False) if other]
    return statistics.median(pairs) if pairs else None


def table(rows: Sequence[Sequence[object]], headings: Sequence[str]) -> str:
    """A text table: the first column left-aligned, numbers right-aligned."""
    lines = [list(map(str, row)) for row in [headings, *rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
