"""Lateness while refreshes read a full window."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from bench import publishers
from bench.figures import percentile
from bench.measure import Contestant, Figure, Goal, Measure, Values
from bench.publishers import Publisher, headline
from bench.stand import Servers

IN_WINDOW = 100_000
RATE, SECONDS = 30, 10.0  # articles a second, and for how long
INTERVALS = {"a refresh each minute": 60, "a refresh each second": 1}
FIGURES = [Figure("p50", "ms"), Figure("p99", "ms"), Figure("max", "ms")]

DESCRIPTION = f"""\
Lateness of {RATE} articles a second over {SECONDS:g} seconds with {IN_WINDOW:,} other tasks in the window, as above. A
refresh reads all of them."""

_FILL = """
INSERT INTO taskinfo (task_id, task_type, priority, execute_time, parameters, version, attempts, created_at,
 promised_at, lease_token)
SELECT seq, 'bench.window', 0, UTC_TIMESTAMP(6) + INTERVAL 200 SECOND + INTERVAL seq * 900 MICROSECOND, '{}', 1, 0,
 UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), '' FROM seq_1_to_%d
"""


def measure(servers: Servers, publisher: Publisher, _round: int) -> Values:
    """Publish some while the window is full."""
    with full_window(servers), publishers.working(servers, publisher):
        batch = publishers.fill(servers, publisher, [(servers.sized(int(RATE * SECONDS)), SECONDS)])
        late = [one for one in publishers.watch(servers, batch) if one is not None]
    assert len(late) == batch.count, f"{batch.count - len(late)} were not published"
    return dict(zip(("p50", "p99", "max"), (percentile(late, part) for part in (0.5, 0.99, 1.0)), strict=True))


@contextmanager
def full_window(servers: Servers) -> Iterator[None]:
    """Tasks of a type that no worker runs; they and their hints are deleted afterwards."""
    servers.rows(_FILL % servers.sized(IN_WINDOW))
    try:
        yield
    finally:
        servers.rows("DELETE FROM taskinfo WHERE task_type = 'bench.window'")
        servers.client(0).flushdb()


def refreshing(seconds: float) -> Publisher:
    """Headline with another interval between two refreshes; the tests' settings can be given as JSON."""
    changed = {"SCHEDULING_REFRESH_INTERVAL": seconds, "SCHEDULING_KEY_PREFIX": "auto"}
    env = {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_SETTINGS": json.dumps(changed)}
    return replace(headline(1), env=env)


def contestants(servers: Servers) -> list[Contestant]:
    """Both intervals."""
    return [
        Contestant(name, partial(measure, servers, refreshing(seconds)), rounds=2)
        for name, seconds in INTERVALS.items()
    ]


REFRESHING = Measure(
    "refreshing",
    "Lateness during refreshes",
    DESCRIPTION,
    FIGURES,
    contestants,
    [Goal(figure, "a refresh each second", operator.le, 1.5, "a refresh each minute") for figure in ("p50", "p99")],
)
