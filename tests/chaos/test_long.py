"""`make chaos`: one fault at a time under a steady stream of tasks, and a table of the lateness."""

from __future__ import annotations

import pytest

from tests.chaos import faults
from tests.chaos.faults import Fault
from tests.chaos.trial import Trial
from tests.harness import Stand

pytestmark = pytest.mark.chaos

# Seconds that tasks due after the fault may be late at most; generous, because the machine is not ours alone.
LATE_AFTER = 5.0

FAULTS = [
    faults.empty_redis,
    faults.kill_worker,
    faults.kill_supervisor,
    faults.freeze_worker,
    faults.restart_redis,
    faults.stop_redis_for_ten_seconds,
    faults.black_hole_redis,
    faults.fill_redis,
    faults.demote_redis,
    faults.kill_mariadb,
    faults.freeze_mariadb,
    faults.refresh_twice_at_once,
    faults.write_garbage,
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_task_runs_once_and_not_early_whatever_happens(
    stand: Stand, results: list[tuple[object, ...]], fault: Fault
) -> None:
    """R0.5 R0.6 R1.6 R1.16 R1.20 R2.5 R2.6 R3.4 R3.6 R4.6 R4.8"""
    trial = Trial(stand, tasks=600, seconds=20)
    trial.run([fault])
    report = trial.report()
    late = [f"{value:.0f}" for value in (report.before, report.during, report.after, report.in_hand)]
    results.append((fault.__name__, report.tasks, report.lost, report.doubled, report.early, *late))
    assert (report.lost, report.doubled, report.early) == (0, 0, 0), report
    assert report.after < LATE_AFTER * 1000, report
