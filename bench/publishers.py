"""The publishers (Headline, its peers, raw SQL): how each is started, and how articles are queued for it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

from bench.stand import CELERY, DRAMATIQ, QUEUE, Servers
from tests.harness import Process

ATTEMPTS = 4  # to fill a queue before its articles are due
FIRST_LEAD = 4.0  # seconds for the first time, and per article:
FIRST_LEAD_EACH = 0.001
STARTING = 2.0  # seconds from the filled queue to the first due time at least, for the observer to start

Segments = Sequence[tuple[int, float]]
"""How many articles over how many seconds; 0 seconds are one instant."""


@dataclass(frozen=True, eq=False)
class Publisher:
    """Programs that publish due articles."""

    name: str
    commands: Sequence[Sequence[str]]  #: started with a Python
    ready: str  #: printed by each when it can work
    is_peer: bool = True  #: it needs the peers' Python
    env: Mapping[str, str] = field(default_factory=dict)
    queue: str | None = None  #: a module that gives it `FIRST COUNT` articles; None: it finds the rows itself
    has_tasks: bool = False  #: it runs Headline's tasks
    uses_redis: bool = False


@dataclass(frozen=True)
class Batch:
    """Articles that wait for their time."""

    first: int
    count: int
    due: float


POLL = ("manage.py", "poll", "--forever", "--processes")
_CELERY = ("-m", "celery", "-A", "bench.peers.celery_app", "worker", "--concurrency", "2", "--loglevel", "warning")
_LONE_WORKER = ("--without-gossip", "--without-mingle", "--without-heartbeat")
_RECENT = "updated_at > UTC_TIMESTAMP() - INTERVAL 1 HOUR"
_PLAIN = {"DJANGO_SETTINGS_MODULE": "bench.peers.plain.settings"}


def headline(processes: int) -> Publisher:
    """Headline with so many worker processes."""
    name = f"Headline, {processes} process{'es' if processes > 1 else ''}"
    return Publisher(
        name, [[*POLL, str(processes)]], "articles.publish", is_peer=False, has_tasks=True, uses_redis=True
    )


def raw_sql(processes: int) -> Publisher:
    """Hand-written statements in as many processes; the least that the database has to do."""
    name = f"raw SQL, {processes} process{'es' if processes > 1 else ''}"
    return Publisher(name, [["-m", "bench.raw_sql"]] * processes, "ready", is_peer=False, has_tasks=True)


CELERY_WORKER = Publisher(
    "Celery, 2 processes",
    [[*_CELERY, *_LONE_WORKER]],
    "ready",
    queue="bench.peers.celery_app",
    uses_redis=True,
)
DRAMATIQ_WORKER = Publisher(
    "Dramatiq, 2 processes",
    [["-m", "dramatiq", "bench.peers.dramatiq_app", "--processes", "2"]],
    "ready for action",
    env={"dramatiq_delay_queue_prefetch": "65535"},
    queue="bench.peers.dramatiq_app",
    uses_redis=True,
)
DJANGO_TASKS = Publisher(
    "django-tasks-db, 2 processes",
    [["-m", "bench.peers.db_worker"]] * 2,
    "ready",
    env=_PLAIN,
    queue="bench.peers.enqueue",
)
LOOP = Publisher("tutorial loop", [["-m", "bench.peers.loop"]], "ready", env=_PLAIN)


@contextmanager
def working(servers: Servers, publisher: Publisher) -> Iterator[list[Process]]:
    """The publisher's processes, ready for work; what it leaves undone is cleared away afterwards."""
    prepare(servers, publisher)
    with working_on(servers, publisher) as processes:
        yield processes
    servers.rows("UPDATE articles_article SET status = 0 WHERE status IN (4, 8)")


@contextmanager
def working_on(servers: Servers, publisher: Publisher) -> Iterator[list[Process]]:
    """The publisher's processes, which find what its queue has."""
    with ExitStack() as stack:
        processes = start(servers, publisher, stack)
        yield processes
        for process in processes:
            end(process)


def prepare(servers: Servers, publisher: Publisher) -> None:
    """Empty all queues; the table of django-tasks-db is created at the first use.

    Headline's, too: raw SQL deletes tasks, but not their hints. And its reconcilers find nothing to do: otherwise they
    would index all articles of the contestants before, because these were stored without `Article.save()`.
    """
    for database in (QUEUE, CELERY, DRAMATIQ):
        servers.client(database).flushdb()
    servers.rows(f"UPDATE articles_article SET updated_at = updated_at - INTERVAL 1 DAY WHERE {_RECENT}")
    servers.rows("DELETE FROM articles_pendingchange")
    if publisher.env.items() >= _PLAIN.items():
        migrate_plain(servers)
        servers.rows("DELETE FROM django_tasks_database_dbtaskresult")


def migrate_plain(servers: Servers) -> None:
    """Create the table of django-tasks-db once."""
    servers.once("plain", lambda: servers.call_peer("-m", "django", "migrate", "--verbosity", "0", env=_PLAIN))


def start(servers: Servers, publisher: Publisher, stack: ExitStack) -> list[Process]:
    """Start the processes and wait until they are ready."""
    begin = servers.start_peer if publisher.is_peer else servers.start
    processes = [stack.enter_context(begin(*command, env=publisher.env)) for command in publisher.commands]
    for process in processes:
        process.wait_for(publisher.ready, 60)
    return processes


def end(process: Process) -> None:
    """Stop a process and its children at once."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


_seconds_taken: dict[tuple[str, int], float] = {}
"""To fill the queue of a publisher with so many articles, as far as known."""


def fill(servers: Servers, publisher: Publisher, segments: Segments, *, starting: float = STARTING) -> Batch:
    """Store articles and queue them some time before the first is due; raises if the machine is too slow for that."""
    number = sum(one for one, _seconds in segments)
    known = publisher.name, number
    for _ in range(ATTEMPTS):
        began = time.time()
        lead = 1.3 * _seconds_taken.get(known, FIRST_LEAD + FIRST_LEAD_EACH * number) + starting
        batch = Batch(_queue(servers, publisher, segments, began + lead), number, began + lead)
        _seconds_taken[known] = time.time() - began
        if time.time() + starting / 2 < batch.due:
            return batch
        servers.rows("UPDATE articles_article SET status = 0 WHERE status IN (4, 8)")
    raise RuntimeError(f"{publisher.name}: {number} articles were not queued within {lead:.0f} s")


def _queue(servers: Servers, publisher: Publisher, segments: Segments, due: float) -> int:
    arguments = [f"{number}:{seconds:g}" for number, seconds in segments]
    without = [] if publisher.has_tasks else ["--without-tasks"]
    first = int(servers.run("bench.load_articles", due, *arguments, *without))
    if publisher.queue:
        servers.call_peer("-m", publisher.queue, first, sum(number for number, _ in segments), env=publisher.env)
    return first


def watch(servers: Servers, batch: Batch, *options: object) -> list[float | None]:
    """What the observer sees of the batch: lateness in milliseconds."""
    seen: list[float | None] = servers.run("bench.observer", batch.first, batch.count, *options)
    return seen


def early(seen: Iterable[float | None]) -> int:
    """How many articles the observer saw before their time."""
    return sum(late is not None and late < 0 for late in seen)
