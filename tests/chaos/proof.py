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
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import MySQLdb

from tests.chaos.checker import LATEST, Verdict, check
from tests.chaos.dump import dump
from tests.chaos.faults import KINDS, Scene, as_root
from tests.chaos.history import FaultRecord, History, now
from tests.chaos.newsroom import ATTEMPTS, TIMEOUT, Editor, Newsroom
from tests.chaos.plan import RATE, Planned, draw
from tests.chaos.readers import LISTS, Reader
from tests.chaos.system import System
from tests.harness import Stand, base_dir

SETTLED = 120.0  # seconds at most until the workers have nothing left to do
_KEPT = ("django_", "auth_permission", "auth_group", "scheduling_installation")
"""Tables whose rows come from migrations."""


@dataclass(frozen=True)
class Load:
    """How much editors and readers do."""

    editors: int = 3
    readers: int = 2
    pause: float = 0.25  #: seconds on average between two operations of an editor
    reading_pause: float = 0.15  #: and between two pages of a reader


@dataclass(frozen=True)
class Proof:
    """What was done, and the verdict."""

    seed: int
    seconds: float
    plan: Sequence[Planned]
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
    latest: float = LATEST,
    settled: float = SETTLED,
) -> Proof:
    """Run a proof with the code in `source`; the same seed draws the same plan."""
    empty(stand)
    plan = draw(seed, seconds, kinds=kinds, rate=rate)
    path = directory / f"history-{seed}.jsonl"
    history = History(path)
    with limited_rights(stand), System(stand, directory, source=source, settings=settings) as system:
        newsroom = Newsroom(history, system.port, stand.run("tests.chaos.cast"), stand)
        try:
            settled_at = _run(
                newsroom, Scene(system, history, random.Random(seed)), plan, seed, seconds, load or Load(), settled
            )
        finally:
            system.log_to(directory / f"output-{seed}.txt")
    history.close()
    records, rows = History.read(path), dump(stand)
    (directory / f"dump-{seed}.json").write_text(json.dumps({"settled_at": settled_at, **rows}))
    verdict = check(records, rows, settled_at, latest=latest)
    return Proof(seed, seconds, plan, verdict, [one for one in records if isinstance(one, FaultRecord)], path)


def _run(
    newsroom: Newsroom, scene: Scene, plan: Sequence[Planned], seed: int, seconds: float, load: Load, settled: float
) -> float:
    """Returns the time before which everything that was due must be done."""
    editing, reading = threading.Event(), threading.Event()
    editors = [Editor(newsroom, seed + number, pause=load.pause) for number in range(load.editors)]
    readers = [Reader(newsroom, -seed - number - 1, pause=load.reading_pause) for number in range(load.readers)]
    at_work = [threading.Thread(target=one.work, args=[editing], daemon=True) for one in editors]
    looking = [threading.Thread(target=one.read, args=[reading], daemon=True) for one in readers]
    for thread in (*at_work, *looking):
        thread.start()
    Faults(scene, plan).run(seconds)
    editing.set()
    for thread in at_work:
        thread.join(ATTEMPTS * 2 * TIMEOUT)
    settled_at = _settle(scene, settled)
    reading.set()
    for thread in looking:
        thread.join(2 * TIMEOUT)
    for address in LISTS:
        readers[0].look(address)
    for story in newsroom.stories:
        readers[0].look_at(story)
    return settled_at


def _settle(scene: Scene, seconds: float) -> float:
    """Refresh, which adds the tasks of articles that were moved in SQL, and wait until no task is pending any more."""
    deadline = time.monotonic() + seconds
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
        for planned in plan:
            self._at(planned.at, lambda planned=planned: self._start(planned))  # type: ignore[misc]

    def run(self, seconds: float) -> None:
        """Return when all are over, after these seconds at the earliest."""
        while self._due:
            at, _number, action = heapq.heappop(self._due)
            self._sleep_until(at)
            action()
        self._sleep_until(seconds)

    def _start(self, planned: Planned) -> None:
        scene = Scene(self._scene.system, self._scene.history, random.Random(planned.seed))
        fault, began = ExitStack(), now()
        fault.enter_context(KINDS[planned.kind].fault(scene))
        self._at(self._passed() + planned.duration, lambda: self._end(planned, scene, fault, began))

    def _end(self, planned: Planned, scene: Scene, fault: ExitStack, began: float) -> None:
        fault.close()
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
