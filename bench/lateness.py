"""How late articles go live: spread over seconds, and many at one time; Headline and Celery compared.

`python -m bench.lateness` starts a durable MariaDB and a Redis of its own and stops them.
"""

from __future__ import annotations

import argparse
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bench.figures import summary, table
from bench.stand import machine, save, stand
from tests.harness import Process, Stand, base_dir, eventually, python

SETUP = """\
Lateness in milliseconds, on {machine}.
MariaDB flushes at each commit, Redis has an append-only file. Nothing runs early on purpose: n counts what was due.
"stamped" is published_at, written inside the transaction, minus publish_at. "seen" is what a process of its own that
keeps asking MariaDB saw, hence after the commit; it adds up to 2 ms.
Headline: `manage.py poll --forever` in one process unless --processes says otherwise, the handler articles.publish,
real articles whose author is notified of each.
Celery {celery}: two worker processes, Redis as broker, apply_async(eta=...), one plain UPDATE a task on an open
connection, results ignored, other settings default. Both start and fill their queues before anything is due.
"""

HEADINGS = ("", "measured", "n", "early", "p50", "p99", "max")


@dataclass(frozen=True)
class Publisher:
    """A publisher: how it is started, and how `count` articles from `first` on are queued, if necessary."""

    name: str
    running: Callable[[Stand], Any]
    load: tuple[str, ...] = ()
    queue: Callable[[Stand, int, int], Any] = lambda stand, first, count: None


def main() -> None:
    """Measure and print."""
    options = _options()
    with stand() as servers:
        print(SETUP.format(machine=machine(), celery=celery_version()))  # noqa: T201
        ours = replace(HEADLINE, running=partial(headline, processes=options.processes))
        contestants = [ours, CELERY] if options.celery else [ours]
        figures = {one.name: measure(servers, one, options) for one in contestants}
    print(report(figures, options))  # noqa: T201
    print(f"Saved in {save('lateness', figures).relative_to(base_dir)}")  # noqa: T201


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spread", type=int, default=1000, help="articles spread over some time")
    parser.add_argument("--over", type=float, default=20.0, help="seconds over which they spread")
    parser.add_argument("--instant", type=int, default=10_000, help="articles due at one instant")
    parser.add_argument("--lead", type=float, default=25.0, help="seconds for filling the queue before anything is due")
    parser.add_argument("--processes", type=int, default=1, help="worker processes of Headline; Celery has two")
    parser.add_argument("--no-celery", dest="celery", action="store_false")
    return parser.parse_args()


def measure(stand: Stand, one: Publisher, options: argparse.Namespace) -> dict[str, Any]:
    """Run both experiments for one publisher."""
    with one.running(stand):
        spread = experiment(stand, one, options.spread, options.over, options.lead)
        instant = experiment(stand, one, options.instant, 0.0, options.lead)
    return {"spread": spread, "instant": instant}


def experiment(stand: Stand, one: Publisher, count: int, over: float, lead: float) -> dict[str, Any]:
    """Load, wait until all articles are live, and return both measures of lateness."""
    due = float(int(time.time() + lead))
    loaded = stand.run("bench.load_articles", count, "--due", due, "--over", over, *one.load)
    first = loaded["first_id"]
    queued = one.queue(stand, first, count) or loaded
    assert time.time() < due, f"filling the queue took longer than {lead:g} s; give it more --lead"
    last = [] if over else ["--last"]
    seen = stand.run("bench.observer", first, count, *last)
    return {"filling_s": queued["seconds"], "stamped": stamped(stand, first, count), "seen": views(seen, over)}


def views(seen: list[float], over: float) -> dict[str, float]:
    """Percentiles, or when the first and the last went live."""
    assert seen, "not everything was published in time"
    return summary(seen) if over else dict(zip(("first", "max"), (round(late, 2) for late in seen), strict=True))


def stamped(stand: Stand, first: int, count: int) -> dict[str, float]:
    """published_at minus publish_at in milliseconds."""
    sql = (
        "SELECT TIMESTAMPDIFF(MICROSECOND, publish_at, published_at) / 1000 FROM articles_article"
        " WHERE id >= %s AND id < %s AND status = 9"
    )
    late = [float(milliseconds) for (milliseconds,) in stand.rows(sql, first, first + count)]
    assert len(late) == count, f"{count - len(late)} articles were not published"
    return summary(late)


@contextmanager
def headline(stand: Stand, processes: int = 1) -> Iterator[Process]:
    """Start worker processes."""
    with stand.start("manage.py", "poll", "--forever", "--processes", str(processes)) as worker:
        worker.wait_for("articles.publish")
        yield worker


@contextmanager
def celery(stand: Stand) -> Iterator[Process]:
    """Two worker processes under their parent."""
    env = broker(stand)
    with stand.start("-m", "celery", *CELERY_APP, "worker", "--concurrency", "2", "-l", "warning", env=env) as worker:
        ping = [python, "-m", "celery", *CELERY_APP, "inspect", "ping"]
        eventually(lambda: not subprocess.run(ping, env=stand.environment | env, capture_output=True).returncode, 60)
        yield worker


CELERY_APP = ("-A", "bench.celery_publisher")


def broker(stand: Stand) -> dict[str, str]:
    """Another database of the same Redis."""
    return {"CELERY_BROKER_URL": f"{stand.redis.url}/1"}


def send(stand: Stand, first: int, count: int) -> Any:
    """Give Celery a task for each article."""
    stand.environment |= broker(stand)
    return stand.run("bench.celery_publisher", first, count)


def celery_version() -> str:
    """The installed version of Celery."""
    done = subprocess.run([python, "-m", "celery", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[0]


HEADLINE = Publisher("Headline", headline)
CELERY = Publisher("Celery", celery, load=("--without-tasks",), queue=send)


def report(figures: dict[str, Any], options: argparse.Namespace) -> str:
    """The tables of results, and the time to fill the queues."""
    spread, instant, filling = [], [], []
    for name, measured in figures.items():
        for view in ("stamped", "seen"):
            one = measured["spread"][view]
            spread.append((name, view, one["n"], one["early"], one["p50"], one["p99"], one["max"]))
        stamped, seen = measured["instant"]["stamped"], measured["instant"]["seen"]
        instant.append((name, stamped["n"], stamped["early"], stamped["p50"], stamped["max"], seen["max"]))
        filling.append((name, measured["spread"]["filling_s"], measured["instant"]["filling_s"]))
    return "\n".join(
        [
            f"{options.spread} articles over {options.over:g} s", table(spread, HEADINGS), "",
            f"{options.instant} articles at one instant",
            table(instant, ("", "n", "early", "p50 stamped", "last stamped", "last seen")), "",
            "Seconds to fill the queue (Headline: rows, checks and tasks, durably; Celery: messages only)",
            table(filling, ("", "spread", "one instant")), "",
        ]
    )  # fmt: skip


if __name__ == "__main__":
    main()
