"""What each attack costs alone, and what readers notice of all at once: the table is written to var/attacks.md."""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from tests.attacks.attacks import Attack, attacks
from tests.attacks.probe import PATHS
from tests.attacks.site import Answer, Site
from tests.harness.processes import base_dir

pytestmark = pytest.mark.attacks

SECONDS = int(os.environ.get("ATTACK_SECONDS") or 60)
CLIENTS = 10
TIMES = 3
MOST_SECONDS = 0.2
MOST_BYTES = 64 * 1024
MOST_MILLISECONDS = 250.0
COUNTED, COUNTING = 1_000_000, 0.02
"""The limits are those of a machine that adds up so many numbers in so many seconds of its processor. A slower one, by
itself or by its neighbours, has more time for all else, too."""
MOST_MEMORY = 600 * 1024**2
DUE_EACH_SECOND = 2


@dataclass
class Cost:
    """Processor time and answer of an attack: of a page that is cached then, the first; else the cheapest of some."""

    attack: Attack
    seconds: float
    answer: Answer


def slowness() -> float:
    """How many times as slow as that this machine is now; never less than 1."""
    tries = []
    for _ in range(TIMES):
        began, total = time.thread_time(), 0
        for number in range(COUNTED):
            total += number
        tries.append(time.thread_time() - began)
    return max(1.0, min(tries) / COUNTING)


@dataclass
class Run:
    """What clients of all attacks at once got, by status."""

    answers: dict[int, int] = field(default_factory=dict)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as started:
        for path in (*PATHS, started.page):
            assert started.ask(path).status == 200  # what is imported or compiled at first is no attack's cost
        yield started


@pytest.fixture(scope="module")
def all_attacks(site: Site) -> list[Attack]:
    return attacks(site)


def test_an_attack_costs_little(site: Site, all_attacks: Sequence[Attack]) -> None:
    costs, slow = [_cost(site, attack) for attack in all_attacks], slowness()

    lines = [
        f"| {one.attack.finding} | {one.attack.name} | {len(one.attack.body)} | {one.answer.status} | {one.seconds:.2f}"
        f" | {one.answer.size} |\n"
        for one in costs
    ]
    head = "| finding | attack | bytes | status | CPU, s | answer, bytes |\n|---|---|---|---|---|---|\n"
    _write(f"On a machine that takes {slow:.1f} times as long as the one meant:\n\n{head}", lines)
    failed = [one for one in costs if one.answer.status == 500]
    dear = [
        one for one in costs if one.seconds > MOST_SECONDS * slow or one.answer.size > MOST_BYTES + one.attack.shows
    ]
    assert (failed, dear) == ([], [])


def _cost(site: Site, attack: Attack) -> Cost:
    tries = []
    is_cached = attack.method == "GET" and not attack.headers
    for _ in range(1 if is_cached else TIMES):  # other work on the machine only adds
        began = site.seconds
        answer = _send(site, attack)
        tries.append(Cost(attack, site.seconds - began, answer))
    return min(tries, key=lambda one: one.seconds)


def _send(site: Site, attack: Attack) -> Answer:
    headers = {"Content-Type": attack.kind, **attack.headers} if attack.kind else attack.headers
    return site.ask(attack.path, method=attack.method, body=attack.body, **headers)


def test_readers_and_articles_that_are_due_notice_nothing_of_all_at_once(
    site: Site, all_attacks: Sequence[Attack]
) -> None:
    due = site.stand.run("tests.attacks.due", SECONDS, DUE_EACH_SECOND)
    slow, run, until = slowness(), Run(), time.monotonic() + SECONDS
    clients = [
        threading.Thread(target=_attack, args=(site, all_attacks, number, until, run)) for number in range(CLIENTS)
    ]
    for client in clients:
        client.start()
    took = site.stand.run("tests.attacks.probe", site.port, SECONDS)
    for client in clients:
        client.join()

    executed = "SELECT lateness FROM taskinfo_logs WHERE task_type = 'articles.publish' AND `key` IN %s"
    rows = site.stand.rows(executed, [str(number) for number in due])
    late = [lateness / 1000 for (lateness,) in rows if lateness is not None]
    p99 = {path: _p99(values) for path, values in took.items()} | {"late": _p99(late)}
    lines = [f"{name}: p99 {value:.0f} ms\n" for name, value in p99.items()]
    answers, memory = dict(sorted(run.answers.items())), site.memory >> 20
    _write(f"\n{CLIENTS} clients for {SECONDS} s: {answers}, {memory} MiB, slow by {slow:.1f}\n", lines)
    assert len(late) == len(due)
    assert 500 not in run.answers
    assert [name for name, value in p99.items() if value > MOST_MILLISECONDS * slow] == []
    assert site.memory < MOST_MEMORY


def _attack(site: Site, attacks: Sequence[Attack], first: int, until: float, run: Run) -> None:
    ordered = itertools.cycle([*attacks[first * 4 % len(attacks) :], *attacks[: first * 4 % len(attacks)]])
    while time.monotonic() < until:
        status = _send(site, next(ordered)).status
        run.answers[status] = run.answers.get(status, 0) + 1


def _p99(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


def _write(head: str, lines: Sequence[str]) -> None:
    text = head + "".join(lines)
    print(text)  # noqa: T201
    with open(base_dir / "var" / "attacks.md", "a", encoding="utf-8") as file:
        file.write(text)
