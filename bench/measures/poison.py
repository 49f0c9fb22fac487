"""What tasks whose handler raises cost the articles that are due at the same instant."""

from __future__ import annotations

import operator
from functools import partial

from bench import publishers
from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.publishers import Batch, headline
from bench.stand import Servers

COUNT = 2000
DESCRIPTION = f"""\
{COUNT:,} articles are due at one instant, and some tasks between them cannot run: their parameters are invalid. *last*
is the time until another process sees the last article published, with two worker processes."""

LAST = Figure("last", "ms")
TIMEOUT = 120
NONE, FEW, SOME, MANY = 0, 1, 10, 100


def measure(servers: Servers, poisoned: int, _round: int) -> Values:
    """Let all be published that can be."""
    publisher, count, poisoned = headline(2), servers.sized(COUNT), int(poisoned * servers.scale)
    with publishers.working(servers, publisher):
        batch = publishers.fill(servers, publisher, [(count + poisoned, 0.0)])
        poison(servers, batch, poisoned)
        (last,) = publishers.watch(servers, batch, "--last", "--timeout", TIMEOUT)
    assert last is not None, f"not all were published within {TIMEOUT} s"
    return {LAST.name: last}


def poison(servers: Servers, batch: Batch, number: int) -> None:
    """Spoil the tasks of some of the articles, evenly spread, which the observer then counts as published."""
    for one in range(number):
        article = batch.first + (one * batch.count + batch.count // 2) // number
        spoil = "UPDATE taskinfo SET parameters = '{}' WHERE task_type = 'articles.publish' AND `key` = %s"
        servers.rows(spoil, str(article))
        servers.rows("UPDATE articles_article SET status = 9 WHERE id = %s", article)


def name_of(poisoned: int) -> str:
    """A contestant's name."""
    return f"{poisoned} invalid"


def contestants(servers: Servers) -> list[Contestant]:
    """Bursts with and without."""
    return [Contestant(name_of(number), partial(measure, servers, number)) for number in (NONE, FEW, SOME, MANY)]


POISON = Measure(
    "poison",
    "Invalid tasks in a burst",
    DESCRIPTION,
    [LAST],
    contestants,
    [Goal(LAST.name, name_of(number), operator.le, 2, name_of(NONE)) for number in (FEW, SOME, MANY)],
)
