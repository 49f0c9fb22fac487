"""Bar charts as SVG: a chart for each figure, a bar for each contestant, a line from minimum to maximum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from bench.figures import Spread, short

WIDTH, LABELS, VALUES = 760, 230, 90  # pixels: all, names on the left, numbers on the right
BAR, GAP, TITLE, MARGIN = 16, 6, 28, 8
LOGARITHMIC = 30  # the ratio of the longest to the shortest bar from which lengths are logarithmic
FIRST, OTHER, LINE, TEXT = "#0b6bcb", "#9aa5b1", "#3d4852", "#52606d"

Bars = Sequence[tuple[str, Spread]]


def svg(charts: Sequence[tuple[str, Bars]]) -> str:
    """The charts below each other, each with a title; bars whose name begins as the first one's have its colour."""
    parts, top = [], MARGIN
    for title, bars in charts:
        parts.append(_chart(title, bars, top))
        top += _height(bars)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" font-family="sans-serif">'
    background = f'<rect width="{WIDTH}" height="{top}" fill="#fff"/>'
    return "\n".join([head, background, *parts, "</svg>", ""])


def _height(bars: Bars) -> int:
    return TITLE + len(bars) * (BAR + GAP) + GAP


def _chart(title: str, bars: Bars, top: int) -> str:
    longest = max((spread.most for _name, spread in bars), default=0.0)
    positive = [spread.least for _name, spread in bars if spread.least > 0]
    shortest = min(positive, default=longest)
    is_logarithmic = shortest > 0 and longest / shortest > LOGARITHMIC
    scale = _Scale(shortest / 2 if is_logarithmic else 0.0, longest)
    suffix = " (logarithmic)" if is_logarithmic else ""
    lines = [_text(MARGIN, top + 18, title + suffix, size=14, color=LINE)]
    family = bars[0][0].split(",")[0] if bars else ""
    for number, (name, spread) in enumerate(bars):
        y = top + TITLE + number * (BAR + GAP)
        lines += _bar(name, spread, y, scale, FIRST if name.startswith(family) else OTHER)
    return "\n".join(lines)


def _bar(name: str, spread: Spread, y: int, scale: _Scale, color: str) -> list[str]:
    end, middle = scale.place(spread.median), y + BAR / 2
    least, most = scale.place(spread.least), scale.place(spread.most)
    return [
        _text(LABELS - 8, y + 12, name, anchor="end"),
        f'<rect x="{LABELS}" y="{y}" width="{end - LABELS:.1f}" height="{BAR}" fill="{color}"/>',
        f'<line x1="{least:.1f}" x2="{most:.1f}" y1="{middle}" y2="{middle}" stroke="{LINE}" stroke-width="2"/>',
        _text(round(max(end, most)) + 6, y + 12, short(spread.median)),
    ]


def _text(x: int, y: int, text: str, *, size: int = 12, color: str = TEXT, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{color}" text-anchor="{anchor}">{escape(text)}</text>'


class _Scale:
    """Places values between the names and the numbers; logarithmic if the lower end is above 0."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def place(self, value: float) -> float:
        """The x of a value."""
        return LABELS + self._part(value) * (WIDTH - LABELS - VALUES)

    def _part(self, value: float) -> float:
        if value <= self.low or self.high <= self.low:
            return 0.0
        if not self.low:
            return value / self.high
        return math.log(value / self.low) / math.log(self.high / self.low)
