"""A proof: editors and readers at work while planned faults happen, and then the checker's verdict."""

from __future__ import annotations

import heapq
import itertools
import json
import random
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import MySQLdb

from tests.chaos.checker import Verdict, check
from tests.chaos.clocks import Clocks, environment_of
from tests.chaos.dump import dump
from tests.chaos.faults import KINDS, Scene, as_root
from tests.chaos.follower import Follower, settle_webhooks
from tests.chaos.history import FaultRecord, History, at_another_time, now
from tests.chaos.newsroom import ATTEMPTS, TIMEOUT, Editor, Newsroom
from tests.chaos.outside import Outside
from tests.chaos.plan import RATE, Planned, draw
from tests.chaos.readers import LISTS, Reader
from tests.chaos.system import System
from tests.harness import HOST, Stand, base_dir

_SAMPLE = 1500  # stored articles whose pages are looked at in the end
SETTLED = 120.0  # seconds at most until the workers have nothing left to do
_WAIT = 0.1  # seconds for the end of another fault
_KEPT = ("django_", "auth_permission", "auth_group", "scheduling_installation")
"""Tables whose rows come from migrations."""


@dataclass(frozen=True)
class Load:
    """How much editors and readers do."""

    editors: int = 3
    readers: int = 2
    articles: int = 0  #: that are stored before and become due during the run
    pause: float = 0.25  #: seconds on average between two operations of an editor
    reading_pause: float = 0.15  #: and between two pages of a reader


@dataclass(frozen=True)
class Proof:
    """What was done, and the verdict."""

    seed: int
    seconds: float
    verdict: Verdict
    faults: Sequence[FaultRecord]
    history: Path


def prove(
    stand: Stand,
    directory: Path,
    *,
    seed: int,
    seconds: float,
    load: Load | None = None,
    kinds: Collection[str] = tuple(KINDS),
    rate: float = RATE,
    source: Path = base_dir,
    settings: str = "{}",
    latest: float | None = None,
    settled: float = SETTLED,
    begin: datetime | None = None,
) -> Proof:
    """Run a proof with the code in `source`; the same seed draws the same plan.

    `begin` is what the clocks of all machines show in the beginning, in the newsroom's time zone.
    """
    plan = draw(seed, seconds, kinds=kinds, rate=rate)

    def work(newsroom: Newsroom, scene: Scene) -> float:
        if load and load.articles:
            first_due = newsroom.store(load.articles, seconds)
            time.sleep(max(0.0, first_due - now()))
        with readers_at_work(newsroom, seed, load or Load()):
            with editors_at_work(newsroom, seed, load or Load()):
                Faults(scene, plan).run(seconds)
            return settle(scene, settled)

    verdict, history = account(
        stand, directory, work, seed=seed, source=source, settings=settings, latest=latest, begin=begin
    )
    faults = [one for one in History.read(history) if isinstance(one, FaultRecord)]
    return Proof(seed, seconds, verdict, faults, history)


def account(
    stand: Stand,
    directory: Path,
    work: Callable[[Newsroom, Scene], float],
    *,
    seed: int,
    source: Path = base_dir,
    settings: str = "{}",
    latest: float | None = None,
    with_clocks: bool = True,
    has_cdn: bool = True,
    has_receiver: bool = True,
    make_system: Callable[[Outside], System] | None = None,
    address: str = HOST,
    begin: datetime | None = None,
) -> tuple[Verdict, Path]:
    """The verdict on what happens while `work` uses the system, and the history.

    `work` returns the time before which everything that was due must be done, see `settle`. `make_system` makes
    another system than the usual one, which reaches mail server and CDN at `address`. `begin`: see `prove`.
    """
    empty(stand)
    path = directory / f"history-{seed}.jsonl"
    with ExitStack() as stack:
        if begin:
            stack.enter_context(at_another_time(begin.timestamp()))
        clocks = Clocks(directory, "mariadb", "web", "workers") if with_clocks and not make_system else None
        if begin and clocks:
            stack.enter_context(environment_of(stand.mariadb, clocks.environment("mariadb")))
        history = stack.enter_context(closing(History(path)))
        stack.enter_context(limited_rights(stand))
        outside = stack.enter_context(Outside(history, has_cdn=has_cdn, has_receiver=has_receiver, address=address))
        environment = {**outside.environment, **({"TIME_ZONE": str(begin.tzinfo)} if begin else {})}
        system = (
            make_system(outside)
            if make_system
            else System(stand, directory, outside=environment, source=source, settings=settings, clocks=clocks)
        )
        stack.enter_context(system)
        stack.callback(lambda: system.log_to(directory / f"output-{seed}.txt"))
        newsroom = Newsroom(
            history, system.port, stand.run("tests.chaos.cast", *filter(None, [outside.webhook])), stand
        )
        newsroom.zone = begin.tzinfo if begin and begin.tzinfo else UTC
        scene = Scene(system, outside, history, random.Random(seed))
        reader = Reader(newsroom, -seed - 1, pause=0.0)
        follower = Follower(newsroom)
        with followed(follower) if has_receiver else nullcontext():
            settled_at = work(newsroom, scene)
        if has_receiver:
            settle_webhooks(scene, SETTLED)
            follower.catch_up()
        for address in LISTS:
            reader.look(address)
        sample = random.Random(seed).sample(newsroom.stock, min(_SAMPLE, len(newsroom.stock)))
        for story in (*newsroom.stories, *sample):
            reader.look_at(story)
    records, rows = History.read(path), dump(stand)
    (directory / f"dump-{seed}.json").write_text(json.dumps({"settled_at": settled_at, **rows}))
    return check(records, rows, settled_at, latest=latest), path


@contextmanager
def editors_at_work(newsroom: Newsroom, seed: int, load: Load) -> Iterator[None]:
    """Editors work while the block lasts, which ends with the response to their last request."""
    stopping = threading.Event()
    editors = [Editor(newsroom, seed + number, pause=load.pause) for number in range(load.editors)]
    for number, editor in enumerate(editors):
        editor.stock = list(newsroom.stock[number :: load.editors])
    threads = [threading.Thread(target=one.work, args=[stopping], daemon=True) for one in editors]
    with _running(threads, stopping, ATTEMPTS * 2 * TIMEOUT):
        yield


@contextmanager
def readers_at_work(newsroom: Newsroom, seed: int, load: Load) -> Iterator[None]:
    """Readers read while the block lasts."""
    stopping = threading.Event()
    readers = [Reader(newsroom, -seed - number - 1, pause=load.reading_pause) for number in range(load.readers)]
    threads = [threading.Thread(target=one.read, args=[stopping], daemon=True) for one in readers]
    with _running(threads, stopping, 2 * TIMEOUT):
        yield


@contextmanager
def followed(follower: Follower) -> Iterator[None]:
    """The follower follows while the block lasts."""
    stopping = threading.Event()
    with _running([threading.Thread(target=follower.follow, args=[stopping], daemon=True)], stopping, 2 * TIMEOUT):
        yield


@contextmanager
def _running(threads: Sequence[threading.Thread], stopping: threading.Event, patience: float) -> Iterator[None]:
    for thread in threads:
        thread.start()
    yield
    stopping.set()
    for thread in threads:
        thread.join(patience)


def settle(scene: Scene, seconds: float = SETTLED, *, refreshing: bool = True) -> float:
    """Wait until no task is pending any more, and return when nothing was due.

    Before, refresh adds the tasks of articles that were moved in SQL.
    """
    deadline = time.monotonic() + seconds
    if refreshing:
        scene.system.refresh().wait(seconds)
    while time.monotonic() < deadline:
        began = now()
        with suppress(MySQLdb.Error):
            if scene.stand.rows("SELECT COUNT(*) FROM taskinfo") == [(0,)]:
                return began
        time.sleep(0.2)
    return now()


class Faults:
    """Begins and ends the faults of a plan, in the thread that may start servers."""

    def __init__(self, scene: Scene, plan: Sequence[Planned]) -> None:
        self._scene = scene
        self._numbers = itertools.count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._begin = time.monotonic()
        self._on: set[str] = set()  # what has a fault now
        for planned in plan:
            self._plan(planned.at, planned)

    def _plan(self, at: float, planned: Planned) -> None:
        self._at(at, lambda: self._start(planned))

    def run(self, seconds: float) -> None:
        """Return when all are over, after these seconds at the earliest."""
        while self._due:
            at, _number, action = heapq.heappop(self._due)
            self._sleep_until(at)
            action()
        self._sleep_until(seconds)

    def _start(self, planned: Planned) -> None:
        """Begin a fault, or wait for the one before of the same thing, which may have begun late."""
        if KINDS[planned.kind].of in self._on:
            return self._plan(self._passed() + _WAIT, planned)
        self._on.add(KINDS[planned.kind].of)
        scene = replace(self._scene, random=random.Random(planned.seed), holds=None)
        fault, began = ExitStack(), now()
        fault.enter_context(KINDS[planned.kind].fault(scene))
        return self._at(self._passed() + planned.duration, lambda: self._end(planned, scene, fault, began))

    def _end(self, planned: Planned, scene: Scene, fault: ExitStack, began: float) -> None:
        fault.close()
        self._on.discard(KINDS[planned.kind].of)
        self._scene.history.add(FaultRecord(began=began, ended=now(), kind=planned.kind, holds=scene.holds))

    def _at(self, moment: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._due, (moment, next(self._numbers), action))

    def _passed(self) -> float:
        return time.monotonic() - self._begin

    def _sleep_until(self, moment: float) -> None:
        time.sleep(max(0.0, moment - self._passed()))


def empty(stand: Stand) -> None:
    """Empty Redis and all tables that migrations do not fill."""
    connection = stand.connect()
    with connection.cursor() as cursor:
        cursor.execute("SET foreign_key_checks = 0")
        cursor.execute("SHOW TABLES")
        for (table,) in cursor.fetchall():
            if not table.startswith(_KEPT):
                cursor.execute(f"TRUNCATE `{table}`")
    connection.close()
    stand.queue().flushall()


@contextmanager
def limited_rights(stand: Stand) -> Iterator[None]:
    """Headline's user may not write while MariaDB is read-only, which it may in other tests."""
    with closing(as_root(stand)) as connection:
        connection.cursor().execute("REVOKE READ ONLY ADMIN, SUPER ON *.* FROM headline@'%'")
    try:
        yield
    finally:
        with closing(as_root(stand)) as connection:
            connection.cursor().execute("GRANT ALL ON *.* TO headline@'%'")


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
