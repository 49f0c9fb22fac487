"""What records, logs and `/readyz` say about lateness, beside what an outside observer sees."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

import pytest

from tests.chaos.mutants import STAMPED_BEFORE
from tests.chaos.trial import Trial
from tests.harness import Process, Stand, eventually

pytestmark = pytest.mark.django_db  # whose tables the stand copies

LEAD = 4.0  # seconds for storing the articles
BLOCKED = 0.3, 1.0  # seconds before and after the due time for which commits are blocked
TOLERANCE = 10  # pauses between two looks of the observer by which a record may be worse than what it saw
AWAY = 1.0  # seconds after the due time at which workers start
_EPOCH = datetime(1970, 1, 1)
_RECORDS = (
    "SELECT CAST(`key` AS UNSIGNED), GREATEST(execute_time, promised_at), executed_at, lateness FROM taskinfo_logs"
    " WHERE task_type = 'articles.publish' AND status = 1"
)
_READY = "import json; from django.test import Client; print(json.dumps(Client().get('/readyz').json()['lateness_ms']))"


@dataclass(frozen=True)
class Publication:
    """An article's record, in seconds, and what the observer saw."""

    due: float
    executed: float
    late: float
    unseen: float
    seen: float


@dataclass(frozen=True)
class Case:
    """Articles that become due, and what happens to the engine until then."""

    count: int
    over: float = 0.0
    happens: Callable[[Trial, float], None] = lambda trial, due: None
    is_late: float = 0.0  #: seconds by which each is late at least
    has_worker: bool = True


def block_commits(trial: Trial, due: float) -> None:
    """Such as a backup does."""
    before, after = BLOCKED
    with trial.stand.connect() as connection, connection.cursor() as cursor:
        time.sleep(max(0.0, due - before - time.time()))
        cursor.execute("BACKUP STAGE START")
        cursor.execute("BACKUP STAGE BLOCK_COMMIT")
        time.sleep(max(0.0, due + after - time.time()))
        cursor.execute("BACKUP STAGE END")


def start_late(trial: Trial, due: float) -> None:
    """An outage ends."""
    time.sleep(max(0.0, due + AWAY - time.time()))
    trial.start_workers()


CASES = {
    "at rest": Case(30, over=2.0),
    "1,000 of one instant": Case(1000),
    "blocked commits": Case(5, happens=block_commits, is_late=BLOCKED[1]),
    "after an outage": Case(20, happens=start_late, is_late=AWAY, has_worker=False),
}


@pytest.fixture
def trial(stand: Stand) -> Iterator[Trial]:
    trial = Trial(stand)
    yield trial
    trial.end()


@pytest.mark.parametrize("name", CASES)
def test_no_figure_is_better_than_what_an_outside_observer_saw(trial: Trial, name: str) -> None:
    case = CASES[name]
    if case.has_worker:
        trial.start_workers()
    publications = list(watched(trial, case))
    assert len(publications) == case.count
    better = too_good(publications)
    assert not better, f"{better[0].unseen - better[0].executed:.6f} s too good"
    assert min(one.late for one in publications) >= case.is_late
    assert all(abs(one.executed - one.due - one.late) < 1e-5 for one in publications)
    assert_shown(trial, max(one.late for one in publications) * 1000)
    worse = median(one.executed - one.seen for one in publications)
    precision = median(one.seen - one.unseen for one in publications)  # grows with what else the machine does
    assert worse <= TOLERANCE * precision, f"{worse * 1000:.1f} ms worse, observed to {precision * 1000:.1f} ms"


@pytest.mark.mutants
def test_a_record_that_is_stamped_before_the_commit_is_found(stand: Stand, tmp_path: Path) -> None:
    trial = Trial(stand, source=STAMPED_BEFORE.make(tmp_path / "source"))
    trial.start_workers()
    found = too_good(watched(trial, CASES["blocked commits"]))
    trial.end()
    assert len(found) == CASES["blocked commits"].count


def too_good(publications: Iterable[Publication]) -> list[Publication]:
    """Those that were not there yet when their records say that they were."""
    return [one for one in publications if one.executed < one.unseen]


def watched(trial: Trial, case: Case) -> Iterator[Publication]:
    """Let the articles become due, and compare."""
    due, observer = begin(trial, case, LEAD)
    case.happens(trial, due)
    assert observer.wait(90) == 0, observer.output
    seen = {article: times for article, *times in json.loads(observer.output.splitlines()[-1])}
    eventually(lambda: all(late is not None for *_, late in trial.stand.rows(_RECORDS)), 30)
    for article, at, executed, late in trial.stand.rows(_RECORDS):
        yield Publication(seconds(at), seconds(executed), late / 1e6, *seen[article])


def begin(trial: Trial, case: Case, lead: float) -> tuple[float, Process]:
    """When the first is due, and the observer, who watches by then; on a busy machine with more time for all that."""
    trial.reset()
    due = trial.load({"task_type": "articles.publish", "count": case.count, "lead": lead, "over": case.over})
    observer = trial.start("-m", "tests.chaos.observer", str(case.count))
    observer.wait_for("watching")
    return (due, observer) if time.time() < due - BLOCKED[0] else begin(trial, case, 2 * lead)


def seconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds()


def assert_shown(trial: Trial, most: float) -> None:
    """Each figure is that of the records, in milliseconds."""
    shown = json.loads(trial.stand.call("manage.py", "shell", "--verbosity", "0", "-c", _READY))
    assert shown["max"] == pytest.approx(most)
    assert trial.workers.stop() == 0
    for pattern in (r" executed=.* late_max_ms=([\d.]+)", r"published \d+ articles?, late ([\d.]+) ms at most"):
        found = [float(figure) for figure in re.findall(pattern, trial.workers.output)]
        assert max(found) == pytest.approx(most, abs=0.051), pattern
