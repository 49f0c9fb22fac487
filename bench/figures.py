"""Percentiles and a table."""

from __future__ import annotations

import math
from collections.abc import Sequence


def percentile(values: Sequence[float], part: float) -> float:
    """The smallest value that at least `part` (0 to 1) of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(part * len(ordered)), 1) - 1]


def summary(values: Sequence[float]) -> dict[str, float]:
    """Count, how many are negative, and the usual percentiles, rounded to hundredths."""
    parts = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {"n": len(values), "early": sum(value < 0 for value in values)} | {
        name: round(percentile(values, part), 2) for name, part in parts.items()
    }


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
