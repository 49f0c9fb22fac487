"""The report of the benchmarks: its page, its plots and the order of runs."""

from __future__ import annotations

import operator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.__main__ import choose
from bench.figures import Spread
from bench.measure import Contestant, Figure, Goal, Measure, Results
from bench.measures import MEASURES
from bench.plot import svg
from bench.report import judged, medians, ratios, replaced, write
from bench.runner import attempt, run
from bench.stand import Servers

RATE, DELAY = Figure("rate", "/s", more_is_better=True), Figure("delay", "ms")
RESULTS: Results = {
    "ours": [{"rate": 100, "delay": 2}, {"rate": 300, "delay": 4}, {"rate": 200, "delay": 3}],
    "theirs": [{"rate": 10, "delay": 4}, {"rate": 20, "delay": 8}],
    "broken": [],
}


def measure(*contestants: Contestant, goals: list[Goal] | None = None) -> Measure:
    return Measure("sample", "A sample", "How.", [RATE, DELAY], lambda _servers: contestants, goals or [])


def test_tables_show_medians_spread_and_ratios() -> None:
    assert medians(measure(), RESULTS).splitlines() == [
        "|  | rate, /s | delay, ms |",
        "| --- | --- | --- |",
        "| ours | 200 (100–300) | 3 (2–4) |",
        "| theirs | 15 (10–20) | 6 (4–8) |",
        "| broken | – | – |",
    ]
    assert ratios(measure(), RESULTS).splitlines()[2:] == ["| theirs | 12.5 × | 2 × |", "| broken | – | – |"]


def test_goals_are_judged_by_figures_and_by_ratios() -> None:
    goals = [
        Goal("rate", "ours", operator.ge, 10, "theirs"),
        Goal("delay", "ours", operator.le, 2.5),
        Goal("delay", "broken", operator.le, 2.5),
    ]
    assert list(judged(measure(goals=goals), RESULTS)) == [
        "* rate of ours ≥ 10 × theirs: 12.5, met",
        "* delay of ours ≤ 2.5 ms: 3, **missed**",
    ]


def test_a_section_replaces_its_predecessor_and_leaves_the_rest() -> None:
    page = "# Page\n\n<!-- one -->\nold\n<!-- end of one -->\n\n<!-- two -->\nkept\n<!-- end of two -->\n"
    again = replaced(page, "one", r"new \1")
    assert again == page.replace("old", r"new \1")
    assert replaced(again, "three", "more").endswith("\n\n<!-- three -->\nmore\n<!-- end of three -->\n")


def test_the_page_shows_tables_goals_and_plot(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    write(page, measure(), RESULTS, "Today.")
    assert page.read_text().startswith("# Benchmarks\n")
    assert "## A sample" in page.read_text()
    assert "![A sample](benchmarks/sample.svg)" in page.read_text()
    drawn = ElementTree.parse(tmp_path / "benchmarks" / "sample.svg").getroot()
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [
        *("rate, /s: more is better", "ours", "200", "theirs", "15"),
        *("delay, ms: less is better", "ours", "3", "theirs", "6"),
    ]


def test_bars_are_as_long_as_their_values_and_logarithmic_when_far_apart() -> None:
    near = ElementTree.fromstring(svg([("near", [("a", Spread(10, 10, 10)), ("b", Spread(5, 5, 5))])]))
    long, half = [float(bar.attrib["width"]) for bar in near.iter("{http://www.w3.org/2000/svg}rect")][1:]
    assert half == pytest.approx(long / 2, abs=0.1)
    far = svg([("far", [("a & b", Spread(1000, 900, 1100)), ("c", Spread(1, 1, 1))])])
    assert "far (logarithmic)" in far
    assert "a &amp; b" in far


def test_contestants_take_turns_and_every_other_round_goes_backwards() -> None:
    ran: list[str] = []

    def contestant(name: str, rounds: int | None = None) -> Contestant:
        def go(number: int) -> dict[str, float]:
            ran.append(f"{name}{number}")
            return {"rate": number}

        return Contestant(name, go, rounds)

    results = run(measure(contestant("a"), contestant("b"), contestant("slow", 1)), Servers(), 3)
    assert ran == ["a0", "b0", "slow0", "b1", "a1", "a2", "b2"]
    assert {name: len(rounds) for name, rounds in results.items()} == {"a": 3, "b": 3, "slow": 1}


def test_a_contestant_that_fails_has_no_result_and_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert attempt(Contestant("broken", lambda number: {"rate": 1 / number}), 0) == []
    assert "broken: failed" in capsys.readouterr().out


def test_measures_are_chosen_by_name() -> None:
    assert [one.name for one in choose("burst,idle", large=False)] == ["idle", "burst"]
    assert {one.name for one in choose("", large=True)} - {one.name for one in choose("", large=False)} == {
        one.name for one in MEASURES if one.is_large
    }
    with pytest.raises(SystemExit, match="no such measure: unknown"):
        choose("unknown", large=False)


@pytest.mark.parametrize("one", MEASURES, ids=lambda one: one.name)
def test_goals_name_figures_of_their_measure(one: Measure) -> None:
    assert not one.figures or {goal.figure for goal in one.goals} <= {figure.name for figure in one.figures}
