"""Lateness of articles that are due one after the other, on an idle and on a busy machine."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import partial

from bench import publishers
from bench.figures import percentile
from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.publishers import CELERY_WORKER, DJANGO_TASKS, DRAMATIQ_WORKER, LOOP, Publisher, headline
from bench.stand import Servers

DESCRIPTION = """\
Milliseconds from the due time of an article until another process, which polls MariaDB each millisecond, sees it
published, hence after the commit. *Early* counts articles that it sees before their time. Headline
publishes real articles with audit entry, record and notification; each peer's task is one `UPDATE`."""

HEADLINE, PAIR = headline(1), headline(2)
SLOW = 1  # rounds for those that are far behind


def measure(servers: Servers, publisher: Publisher, plan: Mapping[int, float], _round: int) -> Values:
    """Run one publisher at each rate (articles a second) for some seconds."""
    segments = [(servers.sized(int(rate * seconds)), seconds * servers.scale) for rate, seconds in plan.items()]
    with publishers.working(servers, publisher):
        batch = publishers.fill(servers, publisher, segments)
        seen = publishers.watch(servers, batch)
        values: dict[str, float] = {"early": publishers.early(seen)}
    for rate, (count, _seconds) in zip(plan, segments, strict=True):
        part, seen = seen[:count], seen[count:]
        late = [one for one in part if one is not None]
        assert len(late) == len(part), f"{len(part) - len(late)} of {len(part)} were not published at {rate} a second"
        values |= {f"p50 at {rate}/s": percentile(late, 0.5), f"p99 at {rate}/s": percentile(late, 0.99)}
    return values


def lateness(
    name: str, title: str, plan: Mapping[int, float], slow: Sequence[Publisher], goals: Sequence[Goal]
) -> Measure:
    """A measure of some rates; `slow` publishers take part in fewer rounds."""

    def contestants(servers: Servers) -> list[Contestant]:
        fast = [Contestant(one.name, partial(measure, servers, one, plan)) for one in (HEADLINE, PAIR, CELERY_WORKER)]
        return fast + [Contestant(one.name, partial(measure, servers, one, plan), rounds=SLOW) for one in slow]

    figures = [Figure(f"{part} at {rate}/s", "ms") for rate in plan for part in ("p50", "p99")]
    return Measure(name, title, DESCRIPTION, [*figures, Figure("early", "")], contestants, goals)


IDLE = lateness(
    "idle",
    "Lateness, 30 and 100 articles a second",
    {30: 5.0, 100: 4.0},
    [DRAMATIQ_WORKER, DJANGO_TASKS, LOOP],
    [
        *(Goal(f"p50 at {rate}/s", HEADLINE.name, operator.le, 3.0) for rate in (30, 100)),
        *(
            Goal(f"p99 at {rate}/s", ours.name, operator.le, 1.5, CELERY_WORKER.name)
            for ours in (HEADLINE, PAIR)
            for rate in (30, 100)
        ),
        *(Goal("early", ours.name, operator.le, 0) for ours in (HEADLINE, PAIR)),
    ],
)
BUSY = lateness(
    "busy",
    "Lateness, 500 and 2,000 articles a second",
    {500: 3.0, 2000: 1.5},
    [DRAMATIQ_WORKER],
    [
        *(Goal("p99 at 500/s", ours.name, operator.le, 10.0) for ours in (HEADLINE, PAIR)),
        *(Goal("early", ours.name, operator.le, 0) for ours in (HEADLINE, PAIR)),
    ],
)
