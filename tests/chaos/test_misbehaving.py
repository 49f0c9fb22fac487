"""Tasks that kill their worker, fail, are committed late or whose hints get lost, among others that become due."""

from __future__ import annotations

import pytest

from tests.chaos.proxy import Proxy
from tests.chaos.trial import FAILED, Trial
from tests.harness import Stand, eventually

pytestmark = [pytest.mark.long, pytest.mark.django_db]  # whose tables the stand copies


@pytest.mark.thorough
def test_a_task_that_kills_its_worker_ends_failed_and_the_others_run(stand: Stand) -> None:
    """R0.8 R2.2 R2.6"""
    trial = Trial(stand, tasks=100, seconds=5)
    trial.run([lambda trial: trial.add("probe.kill", 1)])
    ((status, attempts, error),) = stand.rows(
        "SELECT status, attempts, error FROM taskinfo_logs WHERE task_type = 'probe.kill'"
    )
    assert (status, attempts) == (FAILED, 5)
    assert "worker died 5 times" in error
    assert stand.rows("SELECT COUNT(*) FROM taskinfo_logs WHERE status = 1") == [(100,)]
    assert stand.rows("SELECT COUNT(*), COUNT(DISTINCT task_id) FROM probe_effect") == [(50, 50)]


def test_a_handler_that_raises_is_undone_and_tried_again_and_the_others_run(stand: Stand) -> None:
    """R0.8 R2.2"""
    trial = Trial(stand, tasks=100, seconds=2, env={"TEST_SETTINGS": '{"SCHEDULING_BACKOFF": 0.5}'})
    trial.run([lambda trial: trial.add("probe.fail", 20, parameters={"times": 1})])
    report = trial.report()
    assert report.lost == 0
    assert stand.rows("SELECT COUNT(*), COUNT(DISTINCT task_id) FROM probe_effect") == [(70, 70)]
    assert stand.rows("SELECT DISTINCT attempts FROM taskinfo_logs WHERE task_type = 'probe.fail'") == [(2,)]


@pytest.mark.thorough
def test_a_task_whose_long_transaction_commits_after_its_time_runs_at_once(stand: Stand) -> None:
    """R2.5: without a hint, the sweep finds it."""
    trial = Trial(stand, tasks=2, seconds=1)
    trial.run([_commit_late])
    report = trial.report()
    assert (report.tasks, report.lost, report.doubled, report.early) == (3, 0, 0, 0)


@pytest.mark.thorough
def test_a_reply_of_redis_that_gets_lost_loses_no_task(stand: Stand) -> None:
    """R0.5 R2.5: what was popped is found again in the database."""
    with Proxy(stand.redis.port) as proxy:
        patience = '{"SCHEDULING_PUSH_TIMEOUT": 2, "SCHEDULING_POP_TIMEOUT": 5}'  # a busy machine is no dead Redis
        env = {"REDIS_URL": f"redis://127.0.0.1:{proxy.port}/0", "TEST_SETTINGS": patience}
        trial = Trial(stand, tasks=100, seconds=5, env=env)
        proxy.lose_next_ids()
        trial.run([])
        assert proxy.lost.is_set()
    report = trial.report()
    assert (report.tasks, report.lost, report.doubled, report.early) == (100, 0, 0, 0)


def _commit_late(trial: Trial) -> None:
    connection = trial.stand.connect()
    connection.autocommit(False)
    columns = "task_id, task_type, priority, execute_time, parameters, version, attempts, created_at, promised_at"
    values = "42, 'probe.note', 0, UTC_TIMESTAMP(6), '{}', 1, 0, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6)"
    with connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO taskinfo ({columns}, lease_token) VALUES ({values}, '')")
        cursor.execute(
            f"INSERT INTO taskinfo_logs ({columns}, status, worker, error, updated_at)"
            f" VALUES ({values}, 0, '', '', UTC_TIMESTAMP(6))"
        )
        eventually(lambda: _overdue(cursor) > 1.5)
    connection.commit()
    connection.close()


def _overdue(cursor: object) -> float:
    cursor.execute("SELECT TIMESTAMPDIFF(MICROSECOND, execute_time, UTC_TIMESTAMP(6)) FROM taskinfo WHERE task_id = 42")  # type: ignore[attr-defined]
    return float(cursor.fetchone()[0]) / 1e6  # type: ignore[attr-defined]
