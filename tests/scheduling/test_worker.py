"""Workers as real processes: on time, woken, stopped, killed, supervised and replaced."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import OperationalError, connection

from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat
from scheduling.services import add_tasks, cancel_tasks
from scheduling.services.measuring import workers
from tests.chaos.proxy import Proxy
from tests.conftest import Manage, StartManage, database_environment
from tests.harness import Process, eventually, free_port
from tests.probe.models import Effect
from tests.scheduling.conftest import Keys

Status = TaskInfoLog.Status
StartWorker = Callable[..., Process]


@pytest.fixture(params=["redis", "database"])
def queue(request: pytest.FixtureRequest, transactional_db: None, settings: Any) -> dict[str, str]:
    """The environment of worker processes on each queue."""
    if request.param == "database":
        settings.SCHEDULING_REDIS_URL = ""
        return {"REDIS_URL": ""}
    return {}


whatever_the_queue = pytest.mark.parametrize(
    "queue", ["redis", pytest.param("database", marks=pytest.mark.thorough)], indirect=True
)
"""For what a worker does with either in the same way."""


@pytest.fixture
def start_worker(start_manage: StartManage) -> StartWorker:
    """Starts `poll --forever` and waits for its first heartbeat."""

    def start(*args: str, env: dict[str, str] | None = None) -> Process:
        known = set(names := WorkerHeartbeat.objects.filter(stopped_at=None).values_list("name", flat=True))
        worker = start_manage("poll", "--forever", *args, env=env)
        try:
            eventually(lambda: set(names.all()) - known)
        except AssertionError as error:
            raise AssertionError(f"no sign of life:\n{worker.output}") from error
        return worker

    return start


def add_probes(task_type: str, count: int = 1, *, due_in: float = 0, parameters: Any = None) -> list[TaskInfo]:
    due = read_database_clock() + timedelta(seconds=due_in)
    task = {"task_type": f"probe.{task_type}", "execute_time": due, "parameters": parameters or {}}
    return add_tasks([task] * count)


def nothing_is_pending() -> bool:
    return not TaskInfo.objects.exists()


def assert_each_ran_once(tasks: list[TaskInfo]) -> None:
    assert sorted(Effect.objects.values_list("task_id", flat=True)) == sorted(task.task_id for task in tasks)
    assert not TaskInfoLog.objects.exclude(status=Status.EXECUTED).exists()
    assert not TaskInfoLog.objects.filter(lateness__lt=timedelta()).exists()


def test_a_worker_runs_tasks_when_they_are_due(queue: dict[str, str], start_worker: StartWorker) -> None:
    """R1.15, R2.1, R0.4"""
    start_worker(env=queue)
    tasks = [*add_probes("note"), *add_probes("note", due_in=1.5), *add_probes("note", due_in=2.25)]
    eventually(nothing_is_pending)
    assert_each_ran_once(tasks)


@whatever_the_queue
def test_a_worker_prunes_records_past_their_retention(queue: dict[str, str], start_worker: StartWorker) -> None:
    """R4.9"""
    long_ago = read_database_clock() - timedelta(days=91)
    old, recent = add_probes("note", 2)
    cancel_tasks([old.task_id, recent.task_id], reason="")
    TaskInfoLog.objects.filter(pk=old.pk).update(updated_at=long_ago)
    (pending,) = add_probes("note", due_in=600)
    TaskInfoLog.objects.filter(pk=pending.pk).update(updated_at=long_ago)
    start_worker(env=queue)
    eventually(lambda: not TaskInfoLog.objects.filter(pk=old.pk).exists())
    assert set(TaskInfoLog.objects.values_list("pk", flat=True)) == {recent.pk, pending.pk}


def test_a_sleeping_worker_is_woken_by_something_earlier(keys: Keys, start_worker: StartWorker) -> None:
    """R2.4"""
    start_worker()
    add_probes("note", due_in=120)
    (soon,) = add_probes("note", due_in=0.3)
    eventually(Effect.objects.filter(task_id=soon.task_id).exists)
    assert TaskInfo.objects.count() == 1


def test_a_missed_wake_up_costs_no_task(keys: Keys, start_worker: StartWorker) -> None:
    """R2.5"""
    tasks = add_probes("note", 3, due_in=1)
    keys.client.flushall()
    start_worker()
    tasks += add_probes("note", 3, due_in=0.5)
    keys.client.flushall()
    eventually(nothing_is_pending)
    assert_each_ran_once(tasks)


@whatever_the_queue
def test_polling_once_runs_what_is_due_and_ends(queue: dict[str, str], manage: Manage) -> None:
    """R3.2"""
    due, later = add_probes("note", 3), add_probes("note", 2, due_in=600)
    done = manage("poll", env=queue)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"executed=3 failed=0 late_max_ms=\d+\.\d\n", done.stdout)
    assert set(TaskInfo.objects.values_list("pk", flat=True)) == {task.pk for task in later}
    assert Effect.objects.count() == len(due)


def test_polling_once_finds_tasks_without_a_hint_in_redis(keys: Keys, manage: Manage) -> None:
    """R3.4"""
    tasks = add_probes("note", 5)
    keys.client.flushall()
    assert manage("poll").stdout.startswith("executed=5 failed=0")
    assert_each_ran_once(tasks)


@whatever_the_queue
def test_runs_that_overlap_execute_nothing_twice(
    queue: dict[str, str], start_manage: StartManage, manage: Manage
) -> None:
    """R3.3, R3.6, R0.6"""
    tasks = add_probes("note", 300)
    workers = [start_manage("poll", "--for", "5", "--batch", "20", env=queue) for _ in range(3)]
    tasks += add_probes("note", 300, due_in=2)
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    outputs = [*(worker.output for worker in workers), manage("poll", env=queue).stdout]  # a busy machine leaves some
    assert_each_ran_once(tasks)
    executed = [re.search(r"^executed=(\d+) failed=0 late_max_ms=", output, re.M) for output in outputs]
    assert sum(int(match[1]) for match in executed if match) == 600


@whatever_the_queue
def test_only_the_types_asked_for_are_run(queue: dict[str, str], manage: Manage) -> None:
    add_probes("note", 2)
    add_probes("fail", parameters={"times": 0})
    assert manage("poll", "--type", "probe.fail", env=queue).stdout.startswith("executed=1 ")
    assert TaskInfo.objects.count() == 2


@pytest.mark.cases(2)
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--for", "0"], "--for takes a number"),
        (["--for", "nan"], "--for takes a number"),
        (["--for", "soon"], "invalid float value"),
        (["--batch", "0"], "--batch takes a number"),
        (["--processes", "2"], "goes with --forever"),
        (["--forever", "--for", "3"], "not allowed with"),
        (["--type", "unknown.type"], "no handler for unknown.type; this process can run: accounts."),
    ],
)
def test_invalid_arguments_are_refused_with_a_message(manage: Manage, arguments: list[str], complaint: str) -> None:
    refused = manage("poll", *arguments)
    assert refused.returncode != 0
    assert complaint in refused.stderr
    assert "Traceback" not in refused.stderr


@whatever_the_queue
@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_a_stopped_worker_finishes_its_batch_and_is_not_alive(
    queue: dict[str, str], start_worker: StartWorker, number: signal.Signals
) -> None:
    worker = start_worker(env=queue)
    (task,) = add_probes("slow", parameters={"seconds": 1})
    worker.wait_for("probe.slow begins")  # the row may be locked by the sweep, too, which only looks at it
    worker.send_signal(number)
    assert worker.wait() == 0
    assert "executed=1 failed=0" in worker.output
    assert_each_ran_once([task])
    assert workers(read_database_clock()).count == 0


@pytest.mark.thorough
@whatever_the_queue
def test_after_a_stop_the_worker_seen_last_is_the_one_that_was_stopped(
    queue: dict[str, str], start_worker: StartWorker
) -> None:
    long_ago = read_database_clock() - timedelta(seconds=600)
    WorkerHeartbeat.objects.create(name="killed", started_at=long_ago, seen_at=long_ago)
    before = read_database_clock()
    for _ in range(2):
        worker = start_worker(env=queue)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    now = read_database_clock()
    found = workers(now)
    assert found.count == 0
    assert found.last_sign is not None
    assert found.last_sign <= (now - before).total_seconds()
    assert WorkerHeartbeat.objects.exclude(stopped_at=None).count() == 1


@whatever_the_queue
def test_the_second_signal_ends_a_worker_at_once_and_loses_nothing(
    queue: dict[str, str], start_worker: StartWorker
) -> None:
    worker = start_worker(env=queue)
    (task,) = add_probes("slow", parameters={"seconds": 60})
    worker.wait_for("probe.slow begins")
    worker.send_signal(signal.SIGTERM)
    worker.wait_for("a second signal stops at once")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait() == 1
    assert TaskInfo.objects.get().pk == task.pk


@whatever_the_queue
def test_tasks_of_a_killed_worker_are_run_by_the_next(
    queue: dict[str, str], start_worker: StartWorker, manage: Manage
) -> None:
    """R0.5, R2.6"""
    worker = start_worker(env=queue)
    (task,) = add_probes("slow", parameters={"seconds": 1})
    worker.wait_for("probe.slow begins")
    os.killpg(worker.pid, signal.SIGKILL)  # with the parent, which would replace it
    worker.wait()
    assert Effect.objects.count() == 0
    start_worker(env=queue)
    eventually(nothing_is_pending)
    assert_each_ran_once([task])


@whatever_the_queue
def test_a_task_that_kills_its_worker_is_dead_and_the_others_run(
    queue: dict[str, str], start_worker: StartWorker
) -> None:
    """R2.6, R0.8"""
    (poison,) = add_probes("kill")
    notes = add_probes("note", 5)
    start_worker("--processes", "2", env={**queue, "TEST_SETTINGS": '{"SCHEDULING_MAX_ATTEMPTS": 2}'})
    eventually(nothing_is_pending)
    log = TaskInfoLog.objects.get(pk=poison.pk)
    assert log.status == Status.FAILED
    assert "Its worker died" in log.error
    assert sorted(Effect.objects.values_list("task_id", flat=True)) == sorted(task.task_id for task in notes)


def test_a_dead_worker_is_replaced(keys: Keys, start_worker: StartWorker) -> None:
    """R2.6"""
    supervisor = start_worker("--processes", "2")
    eventually(lambda: len(children_of(supervisor)) == 2)
    victims = children_of(supervisor)
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: len(children_of(supervisor) - victims) == 2)
    tasks = add_probes("note", 3)
    eventually(nothing_is_pending)
    assert_each_ran_once(tasks)
    assert supervisor.stop() == 0
    assert supervisor.output.count("died (-9) and is replaced") == supervisor.output.count("is replaced") == 2


@pytest.mark.thorough
def test_a_worker_that_dies_again_and_again_is_replaced_more_and_more_slowly(start_manage: StartManage) -> None:
    code = """
import os, time
from scheduling.workers.supervisor import supervise

def die(stopping, beat):
    os.write(1, f"began {time.monotonic()}\\n".encode())
    os._exit(1)

supervise(die, processes=1)
"""
    supervisor = start_manage("shell", "--verbosity", "0", "-c", code)
    eventually(lambda: supervisor.output.count("began ") > 5, message=lambda: supervisor.output)
    began = [float(moment) for moment in re.findall(r"began (\S+)\n", supervisor.output)]
    assert began[1] - began[0] < (began[5] - began[4]) / 2, began
    assert supervisor.stop() == 0


def test_a_worker_of_which_one_thread_hangs_is_replaced(keys: Keys, start_worker: StartWorker) -> None:
    """Its other threads go on, but the rows that it has locked would wait for ever."""
    supervisor = start_worker(env={"TEST_SETTINGS": '{"SCHEDULING_SILENCE": 3}'})
    (task,) = add_probes("hang")
    eventually(nothing_is_pending)
    assert_each_ran_once([task])
    assert "has hung" in supervisor.output


def test_workers_whose_supervisor_was_killed_exit(keys: Keys, start_worker: StartWorker) -> None:
    supervisor = start_worker("--processes", "2")
    eventually(lambda: len(children_of(supervisor)) == 2)
    orphans = children_of(supervisor)
    supervisor.kill()
    eventually(lambda: not any(is_alive(pid) for pid in orphans))


def children_of(process: Process) -> set[int]:
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        return {int(pid) for pid in children.read().split()}


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@whatever_the_queue
def test_a_failing_handler_stops_no_worker(queue: dict[str, str], start_worker: StartWorker) -> None:
    """R1.16, R0.8, R2.2"""
    worker = start_worker(env={**queue, "TEST_SETTINGS": '{"SCHEDULING_BACKOFF": 0.1}'})
    (bad,) = add_probes("fail", parameters={"times": 1})
    notes = add_probes("note", 5)
    eventually(nothing_is_pending)
    assert_each_ran_once([bad, *notes])
    assert "this task refuses to work" in worker.output
    assert TaskInfoLog.objects.get(pk=bad.pk).attempts == 2


@whatever_the_queue
def test_a_worker_survives_the_loss_of_its_database_connection(
    queue: dict[str, str], start_worker: StartWorker
) -> None:
    """R1.16"""
    worker = start_worker(env=queue)
    if connection.vendor == "mysql":
        kill_other_connections()
    tasks = add_probes("note", 2) + add_probes("note", 2, due_in=1)
    eventually(nothing_is_pending)
    assert_each_ran_once(tasks)
    assert worker.alive()


def kill_other_connections() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID(), DATABASE()")
        (own, database) = cursor.fetchone()
        cursor.execute("SELECT ID FROM information_schema.PROCESSLIST WHERE DB = %s AND ID <> %s", [database, own])
        for (other,) in cursor.fetchall():
            with suppress(OperationalError):  # it has ended by itself
                cursor.execute(f"KILL {other}")


def test_refresh_reports_what_it_did(keys: Keys, manage: Manage) -> None:
    add_probes("note", 3, due_in=60)
    keys.client.flushall()
    done = manage("refresh")
    assert (done.returncode, done.stdout) == (0, "loaded=3 promoted=0 requeued=0 healed=0\n")


@pytest.mark.thorough
@whatever_the_queue
def test_refresh_repeats_on_its_interval(queue: dict[str, str], start_manage: StartManage) -> None:
    """R3.5"""
    often = {**queue, "TEST_SETTINGS": '{"SCHEDULING_REFRESH_INTERVAL": 0.4}'}
    began = time.monotonic()
    process = start_manage("refresh", "--for", "60", env=often)
    eventually(lambda: len(process.lines) >= 3, message=lambda: process.output)
    assert len(process.lines) <= (time.monotonic() - began) / 0.4 + 1


@pytest.mark.thorough
@whatever_the_queue
def test_refresh_ends_when_its_time_is_over(queue: dict[str, str], manage: Manage) -> None:
    """R3.5"""
    done = manage("refresh", "--for", "0.2", env=queue)
    assert (done.returncode, done.stdout.count("loaded=")) == (0, 1)


def test_refresh_fails_loudly_when_the_database_is_away(manage: Manage) -> None:
    url = f"mysql://nobody@127.0.0.1:{free_port()}/headline"
    failed = manage("refresh", env={"DATABASE_URL": url, "REDIS_URL": ""})
    assert failed.returncode != 0
    assert "the database failed" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.thorough
def test_a_worker_without_its_database_logs_little(manage: Manage) -> None:
    url = f"mysql://nobody@127.0.0.1:{free_port()}/headline"
    waited = manage("poll", "--for", "0.5", env={"DATABASE_URL": url, "REDIS_URL": ""})
    assert waited.returncode == 0
    assert waited.stderr.count("(2002, ") == 1, waited.stderr
    assert "Traceback" not in waited.stderr


@pytest.mark.thorough
def test_a_worker_logs_the_end_of_an_outage(start_manage: StartManage, mariadb: None) -> None:
    server = urlsplit(database_environment()["DATABASE_URL"])
    with Proxy(free_port()) as proxy:
        through = server._replace(netloc=server.netloc.replace(f":{server.port}", f":{proxy.port}"))
        worker = start_manage("poll", "--forever", env={"DATABASE_URL": through.geturl(), "REDIS_URL": ""})
        worker.wait_for("ERROR")
        proxy.target = server.port or 0
        worker.wait_for("over after")
        worker.stop()
    assert worker.output.count("ERROR") == worker.output.count("over after") == 1, worker.output
