"""Writes results into a page: a section for each measure, with tables and a plot."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.figures import Spread, ratio, short
from bench.measure import Figure, Goal, Measure, Results
from bench.plot import svg

WIDE = 7  # columns of a table at most


def write(page: Path, measure: Measure, results: Results, note: str) -> None:
    """Replace the measure's section of the page, or add it; its plot is in a folder named as the page."""
    folder = page.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{measure.name}.svg").write_text(plot(measure, results), encoding="utf-8")
    text = section(measure, results, note, f"{folder.name}/{measure.name}.svg")
    write_section(page, measure.name, text)


def write_section(page: Path, name: str, text: str) -> None:
    """Replace the text between the markers of this name, or add both, and the page."""
    page.parent.mkdir(parents=True, exist_ok=True)
    before = page.read_text(encoding="utf-8") if page.exists() else "# Benchmarks\n"
    page.write_text(replaced(before, name, text), encoding="utf-8")


def replaced(page: str, name: str, text: str) -> str:
    """The page with `text` between the markers of this name; markers that are missing are added at the end."""
    marked = f"<!-- {name} -->\n{text}\n<!-- end of {name} -->"
    pattern = re.compile(rf"<!-- {re.escape(name)} -->.*?<!-- end of {re.escape(name)} -->", re.DOTALL)
    if pattern.search(page):
        return pattern.sub(lambda _found: marked, page)
    return f"{page.rstrip()}\n\n{marked}\n"


def section(measure: Measure, results: Results, note: str, plot_path: str) -> str:
    """The section as Markdown."""
    parts = [f"## {measure.title}", measure.description, medians(measure, results)]
    if len(results) > 1:
        parts.append(f"How many times as good {next(iter(results))} is:\n\n{ratios(measure, results)}")
    if goals := list(judged(measure, results)):
        parts.append("\n".join(goals))
    return "\n\n".join([*parts, f"![{measure.title}]({plot_path})", f"_{note}_"])


def figures_of(measure: Measure, results: Results) -> Sequence[Figure]:
    """Those of the measure, or those that its runs returned."""
    names = {name: None for rounds in results.values() for values in rounds for name in values}
    return measure.figures or [Figure(name, "ms") for name in names]


def medians(measure: Measure, results: Results) -> str:
    """Medians with the least and the most of all rounds."""
    figures = figures_of(measure, results)
    rows = [
        [name, *(str(Spread.of(values_of(results, name, figure.name)) or "–") for figure in figures)]
        for name in results
    ]
    return markdown(["", *(figure.title for figure in figures)], rows)


def ratios(measure: Measure, results: Results) -> str:
    """How many times as good the first contestant is, by figure."""
    first, *others = results
    figures = figures_of(measure, results)
    rows = [[name, *(_advantage(results, first, name, figure) for figure in figures)] for name in others]
    return markdown(["", *(figure.name for figure in figures)], rows)


def _advantage(results: Results, first: str, name: str, figure: Figure) -> str:
    ours, theirs = (values_of(results, one, figure.name) for one in (first, name))
    value = ratio(ours, theirs) if figure.more_is_better else ratio(theirs, ours)
    return "–" if value is None else f"{short(value)} ×"


def judged(measure: Measure, results: Results) -> Iterator[str]:
    """The goals as a list, each with what was measured."""
    for goal in measure.goals:
        value = measured(goal, results)
        if value is not None:
            figure = next(figure for figure in figures_of(measure, results) if figure.name == goal.figure)
            verdict = "met" if goal.is_met(value, goal.limit) else "**missed**"
            yield f"* {describe(goal, figure)}: {short(value)}, {verdict}"


def measured(goal: Goal, results: Results) -> float | None:
    """The figure, or its ratio; None if it was not measured."""
    ours = values_of(results, goal.ours, goal.figure)
    if goal.theirs is not None:
        return ratio(ours, values_of(results, goal.theirs, goal.figure))
    spread = Spread.of(ours)
    return None if spread is None else spread.median


def describe(goal: Goal, figure: Figure) -> str:
    """The goal in words."""
    sign = "≥" if goal.is_met is operator.ge else "≤"
    limit = f"{short(goal.limit)} × {goal.theirs}" if goal.theirs else f"{short(goal.limit)} {figure.unit}".rstrip()
    return f"{figure.name} of {goal.ours} {sign} {limit}"


def values_of(results: Results, name: str, figure: str) -> list[float]:
    """What a contestant measured in its rounds."""
    return [values[figure] for values in results.get(name, ()) if figure in values]


def plot(measure: Measure, results: Results) -> str:
    """A chart for each figure."""
    charts = []
    for figure in figures_of(measure, results):
        spreads = [(name, Spread.of(values_of(results, name, figure.name))) for name in results]
        better = "more is better" if figure.more_is_better else "less is better"
        charts.append((f"{figure.title}: {better}", [(name, spread) for name, spread in spreads if spread]))
    return svg([(title, bars) for title, bars in charts if bars])


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; one with many columns is turned, if it has fewer rows."""
    if len(headings) > WIDE > len(rows):
        headings, *rows = list(zip(headings, *rows, strict=True))
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
