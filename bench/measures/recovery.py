"""Recovery of due tasks after `kill -9` of all processes and a restart."""

from __future__ import annotations

import operator
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

from bench import publishers
from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.publishers import CELERY_WORKER, DJANGO_TASKS, DRAMATIQ_WORKER, Publisher, headline
from bench.stand import Servers

RATE, SECONDS = 100, 5.0  # articles a second, and for how long
FAULT_AFTER = 2.0  # seconds after the first is due
PATIENCE = 15.0  # seconds after the last is due
ROUNDS = 1
HEADLINE = headline(2)

DESCRIPTION = f"""\
{RATE} articles a second for {SECONDS:g} seconds. {FAULT_AFTER:g} seconds after the first, all processes are ended by
`kill -9` and started again at once. *Lost* counts articles that are not published {PATIENCE:g} seconds after the last
one is due: Celery delivers them again after its visibility timeout, Dramatiq after its heartbeat's of a minute.
*Delay* is the longest of the others, with the restart."""

LOST, DELAY, EARLY = Figure("lost", "articles"), Figure("delay", "s"), Figure("early", "")


def measure(servers: Servers, publisher: Publisher, _round: int) -> Values:
    """End all, restart, wait, count."""
    segments = [(servers.sized(int(RATE * SECONDS)), SECONDS)]
    with publishers.working(servers, publisher) as processes, ExitStack() as stack:
        batch = publishers.fill(servers, publisher, segments)
        observer = stack.enter_context(ThreadPoolExecutor(1))
        watching = observer.submit(publishers.watch, servers, batch, "--timeout", PATIENCE, "--ahead", batch.count)
        time.sleep(max(0.0, batch.due + FAULT_AFTER - time.time()))
        for process in processes:
            publishers.end(process)
        again = publishers.start(servers, publisher, stack)
        seen = watching.result()
        for process in again:
            publishers.end(process)
    late = [one for one in seen if one is not None]
    return {
        LOST.name: len(seen) - len(late),
        DELAY.name: max(late, default=0.0) / 1000,
        EARLY.name: publishers.early(seen),
    }


def contestants(servers: Servers) -> list[Contestant]:
    """Those that run as services."""
    taking_part = (HEADLINE, CELERY_WORKER, DRAMATIQ_WORKER, DJANGO_TASKS)
    return [Contestant(one.name, partial(measure, servers, one), rounds=ROUNDS) for one in taking_part]


RECOVERY = Measure(
    "recovery",
    "Recovery after kill -9",
    DESCRIPTION,
    [LOST, DELAY, EARLY],
    contestants,
    [Goal(LOST.name, HEADLINE.name, operator.le, 0), Goal(EARLY.name, HEADLINE.name, operator.le, 0)],
)
