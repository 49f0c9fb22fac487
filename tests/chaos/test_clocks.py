"""The clock of MariaDB's machine, which decides what is due and live: a night of daylight saving time, and steps."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.chaos.clocks import Clocks, environment_of
from tests.chaos.history import History
from tests.chaos.newsroom import fetch
from tests.chaos.outside import Outside
from tests.chaos.proof import empty, prove, say
from tests.chaos.report import as_text
from tests.chaos.system import System
from tests.harness import Stand, eventually, rows

pytestmark = [pytest.mark.chaos, pytest.mark.django_db]  # whose tables the stand copies

BERLIN = ZoneInfo("Europe/Berlin")
LEAD = 35  # seconds from the start of the servers until clocks change, most of them with editors and faults

STEPS = ((15.0, 600.0), (35.0, 0.0), (50.0, -600.0), (65.0, 0.0), (80.0, 600.0))
"""Seconds after the beginning, and by how many MariaDB's clock is ahead from then on."""
LASTS = 100.0
FOLLOWS = 12.0  # seconds after a step in which what readers see follows it: SCHEDULING_CLOCK_INTERVAL and a little
NEWEST = 30  # articles that a list must show; it shows further ones

_TIMES = "id, publish_at, unpublish_at"
_ACTIONS = ("published", "unpublished")

Times = Mapping[int, tuple[datetime, datetime | None]]
"""When each article goes live and is unpublished."""


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(datetime(2026, 3, 29, 1, 59, 60 - LEAD, tzinfo=BERLIN), id="forward"),
        pytest.param(datetime(2026, 10, 25, 2, 59, 60 - LEAD, tzinfo=BERLIN), id="back"),
    ],
)
def test_every_article_is_accounted_for_in_a_night_in_which_clocks_change(
    stand: Stand, tmp_path: Path, begin: datetime
) -> None:
    """R0.5 R1.16: editors write local times before and after the change, under faults."""
    proof = prove(stand, tmp_path, seed=begin.month, seconds=60, begin=begin)
    say(f"\n{as_text(proof)}")
    assert not proof.verdict.violations, proof.history
    times = (json.loads(line).get("values", {}).get("publish_at") for line in proof.history.read_text().splitlines())
    offsets = {datetime.fromisoformat(moment).utcoffset() for moment in times if moment}
    assert {timedelta(hours=1), timedelta(hours=2)} <= offsets


def test_articles_follow_the_clock_of_mariadb_when_it_is_set(stand: Stand, tmp_path: Path) -> None:
    """R0.6 R3.4: ten minutes ahead, back, ten minutes behind, back, ahead: nothing is early by it, lost or twice."""
    empty(stand)
    clocks, looks = Clocks(tmp_path, "mariadb", "web", "workers"), list[Look]()
    with ExitStack() as stack:
        history = stack.enter_context(closing(History(tmp_path / "history.jsonl")))
        stack.enter_context(environment_of(stand.mariadb, clocks.environment("mariadb")))
        outside = stack.enter_context(Outside(history))
        system = stack.enter_context(System(stand, tmp_path, outside=outside.environment, clocks=clocks))
        store(stand)
        watcher = threading.Thread(target=watch, args=[system, looks])
        watcher.start()
        begins, findings = take_steps(stand, clocks)
        watcher.join()
        last = read_clock(stand)
        stand.call("manage.py", "refresh")  # adds tasks for times that were set in SQL
        overdue = "SELECT COUNT(*) FROM taskinfo WHERE execute_time <= %s"
        eventually(lambda: stand.rows(overdue, last) == [(0,)], message="not all that was due has run")
        end = read_clock(stand)
    times = {pk: (begin, end) for pk, begin, end in stand.rows(f"SELECT {_TIMES} FROM articles_article")}
    differ = [look for look in looks if not look.agrees(times)]
    wrong = [since_step(look.at) for look in differ]
    late = max(lateness(stand, begins))
    say(f"\n{len(wrong)} of {len(looks)} lists differ, the last {max(wrong, default=0):.1f} s after a step")
    say(f"tasks run within {late:.1f} s\n{findings}")
    check_records(stand, times, begins, last, end)
    assert max(wrong, default=0) < FOLLOWS, "\n".join(look.difference(times) for look in differ)
    assert late < FOLLOWS
    assert "differs from this machine's by +600.0" in findings


def store(stand: Stand) -> None:
    """Articles and other tasks for the next minutes, for ten minutes later, and for much later."""
    spans = ((200, 4, 96), (100, 100, 500), (200, 600, 100), (20, 3600, 60))
    kinds = [
        {"task_type": kind, "count": count, "lead": lead, "over": over}
        for count, lead, over in spans
        for kind in ("articles.publish", "probe.note")
    ]
    stand.run("tests.chaos.load", json.dumps(kinds))
    ends = "UPDATE articles_article SET unpublish_at = publish_at + INTERVAL 8 SECOND WHERE id % 3 = 0"
    connection = stand.connect()
    connection.cursor().execute(ends)
    connection.close()
    stand.call("manage.py", "refresh")


def take_steps(stand: Stand, clocks: Clocks) -> tuple[list[datetime], str]:
    """Set MariaDB's clock at each step. Returns what it shows then, and what the doctor says after the first."""
    began, findings, begins = time.monotonic(), "", list[datetime]()
    for at, ahead in STEPS:
        time.sleep(max(0.0, began + at - time.monotonic()))
        before = time.monotonic()
        clocks.set("mariadb", ahead)
        moment = read_clock(stand)
        begins.append(moment - timedelta(seconds=time.monotonic() - before))  # transactions may begin before it is read
        if not findings:
            doctor = stand.start("manage.py", "doctor")
            doctor.wait(15)
            findings = "\n".join(line for line in doctor.output.splitlines() if "clock" in line)
    return begins, findings


def read_clock(stand: Stand) -> datetime:
    """MariaDB's time."""
    ((moment,),) = stand.rows("SELECT UTC_TIMESTAMP(6)")
    return moment  # type: ignore[no-any-return]


def lateness(stand: Stand, begins: Sequence[datetime]) -> Iterator[float]:
    """Of each task, in seconds after its due time, or after it was added or the step before if that was later.

    The steps are so far apart that MariaDB's clock never shows the same time twice.
    """
    columns = "GREATEST(execute_time, created_at), executed_at"
    for due, at in stand.rows(f"SELECT {columns} FROM taskinfo_logs WHERE status = 1"):
        yield (at - max(due, step_before(begins, at))).total_seconds()


def step_before(begins: Sequence[datetime], at: datetime) -> datetime:
    """What MariaDB's clock showed after the last step before this time."""
    steps = (moment for moment in begins if timedelta() <= at - moment < timedelta(seconds=LASTS))
    return max(steps, default=datetime.min)


@dataclass(frozen=True)
class Look:
    """The articles of a list, and MariaDB's time before and after the request."""

    at: float
    begin: datetime
    end: datetime
    shown: Sequence[int]

    def agrees(self, times: Times) -> bool:
        """Whether it shows what is live at some time between; the clock was not set during it."""
        if abs(self.end - self.begin) > timedelta(seconds=60):
            return True
        return not self._missing(times) and not self._surplus(times)

    def difference(self, times: Times) -> str:
        """What is missing and what is shown beside it, with their times, for the message of a failure."""
        missing, surplus = ({pk: times.get(pk) for pk in pks} for pks in (self._missing(times), self._surplus(times)))
        return f"{self.at:.2f} s, {self.begin}–{self.end}: {missing=}, {surplus=}"

    def _missing(self, times: Times) -> set[int]:
        both = live_at(times, self.begin) & live_at(times, self.end)
        newest = sorted(both, key=lambda pk: times[pk][0])[-NEWEST:]
        return {pk for pk in newest if times[pk][1] is None} - set(self.shown)  # what was unpublished once stays so

    def _surplus(self, times: Times) -> set[int]:
        return set(self.shown) - live_at(times, self.begin) - live_at(times, self.end)


def live_at(times: Times, moment: datetime) -> set[int]:
    """The articles that are live then."""
    return {pk for pk, span in times.items() if is_live(span, moment)}


def is_live(span: tuple[datetime, datetime | None], moment: datetime) -> bool:
    begin, end = span
    return begin <= moment and (end is None or moment < end)


def watch(system: System, looks: list[Look]) -> None:
    """Look at the newest articles until all steps are taken."""
    began, connection = time.monotonic(), system.stand.connect()
    while (at := time.monotonic() - began) < LASTS:
        ((begin,),) = rows(connection, "SELECT UTC_TIMESTAMP(6)")
        status, text = fetch(system.port, "GET", "/api/v1/articles/?page_size=50") or (None, "")
        ((end,),) = rows(connection, "SELECT UTC_TIMESTAMP(6)")
        assert status == 200, text
        looks.append(Look(at, begin, end, [one["id"] for one in json.loads(text)["results"]]))
        time.sleep(0.05)


def since_step(at: float) -> float:
    """Seconds since the last step."""
    return at - max((moment for moment, _ahead in STEPS if moment <= at), default=0.0)


def check_records(stand: Stand, times: Times, begins: Sequence[datetime], last: datetime, end: datetime) -> None:
    """What was due at `last` or before was done once, and nothing that was not due at `end`."""
    entries = stand.rows("SELECT article_id, action, at FROM articles_auditentry WHERE source = 'worker'")
    done = Counter((pk, action) for pk, action, _at in entries)
    due = {(pk, action): at for pk, span in times.items() for action, at in zip(_ACTIONS, span, strict=True) if at}
    wanted = {key for key, at in due.items() if at <= last}
    unseen = {(pk, _ACTIONS[0]) for pk, action in wanted if action == _ACTIONS[1]}  # both times passed in one step
    assert wanted - unseen <= done.keys() <= {key for key, at in due.items() if at <= end}
    assert max(done.values()) == 1
    notes = "taskinfo_logs l LEFT JOIN probe_effect e ON e.task_id = l.task_id WHERE l.task_type = 'probe.note'"
    counts = f"SELECT COUNT(*), COUNT(e.task_id), COUNT(DISTINCT e.task_id) FROM {notes} AND l.execute_time <= %s"
    ((tasks, effects, distinct),) = stand.rows(counts, last)
    assert effects == distinct == tasks
    early = [(at, due[pk, action]) for pk, action, at in entries if at < due[pk, action]]
    early += stand.rows("SELECT executed_at, execute_time FROM taskinfo_logs WHERE executed_at < execute_time")
    early += stand.rows(f"SELECT e.at, l.execute_time FROM {notes} AND e.at < l.execute_time")
    for at, moment in early:  # its transaction began before the clock was set back
        assert at - step_before(begins, at) < timedelta(seconds=1), (at, moment)
