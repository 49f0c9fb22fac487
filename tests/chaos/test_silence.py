"""Faults that raise no error in a worker: dropped connections, stopped processes, a read-only database.

Without the timeouts of the database's driver, what is waited for would take a quarter of an hour; how long it takes is
measured by `make recovery`.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.chaos.proxy import Proxy
from tests.chaos.trial import Trial
from tests.harness import PATIENCE, Stand, children, eventually

pytestmark = [pytest.mark.long, pytest.mark.django_db]  # whose tables the stand copies


@pytest.fixture
def proxy(stand: Stand) -> Iterator[Proxy]:
    """A proxy between the workers and MariaDB."""
    with Proxy(stand.mariadb.port) as between:
        yield between


@pytest.fixture
def trial(stand: Stand, proxy: Proxy) -> Trial:
    """Workers that reach MariaDB through the proxy, on empty tables."""
    url = stand.mariadb.url.replace(str(stand.mariadb.port), str(proxy.port))
    trial = Trial(stand, tasks=0, seconds=0, env={"DATABASE_URL": url})
    trial.reset()
    trial.start_workers()
    return trial


def executed(trial: Trial) -> int:
    ((count,),) = trial.stand.rows("SELECT COUNT(*) FROM taskinfo_logs WHERE status = 1")
    return int(count)


@pytest.mark.thorough
def test_publishing_goes_on_after_a_proxy_swallowed_all_connections(trial: Trial, proxy: Proxy) -> None:
    """Idle connections, those that measure the clock, and one in the middle of a batch, whose rows are locked."""
    trial.add("articles.publish", 10)
    eventually(lambda: executed(trial) == 10, message=lambda: trial.workers.output)
    trial.add("probe.slow", 4, parameters={"seconds": 0.5})
    trial.workers.wait_for("probe.slow begins")
    proxy.swallow()
    trial.add("articles.publish", 10)
    eventually(lambda: executed(trial) == 24, message=lambda: trial.workers.output)
    assert trial.workers.stop() == 0
    assert trial.stand.rows("SELECT COUNT(*), COUNT(DISTINCT task_id) FROM probe_effect") == [(4, 4)]


@pytest.mark.thorough
def test_workers_whose_connections_were_swallowed_end_when_shown_to(trial: Trial, proxy: Proxy) -> None:
    trial.add("probe.slow", 4, parameters={"seconds": 0.5})
    trial.workers.wait_for("probe.slow begins")
    proxy.swallow()
    trial.workers.send_signal(signal.SIGTERM)
    trial.workers.wait()


@pytest.mark.thorough
def test_a_worker_that_runs_for_a_while_ends_when_shown_to(trial: Trial, proxy: Proxy) -> None:
    """Cron's workers have no parent that could kill them."""
    trial.workers.stop()
    worker = trial.stand.start("manage.py", "poll", "--for", f"{10 * PATIENCE}", env=trial.env)
    worker.wait_for(" runs ")
    trial.add("probe.slow", 4, parameters={"seconds": 0.5})
    worker.wait_for("probe.slow begins")
    proxy.swallow()
    worker.send_signal(signal.SIGTERM)
    worker.wait()


def test_a_worker_that_stands_still_is_replaced(stand: Stand) -> None:
    patience = {"TEST_SETTINGS": '{"SCHEDULING_SILENCE": 4}'}
    trial = Trial(stand, tasks=0, seconds=0, env=patience)
    trial.reset()
    trial.start_workers()
    stopped = children(trial.workers.pid)
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    eventually(lambda: not set(stopped) & set(children(trial.workers.pid)), message=lambda: trial.workers.output)
    trial.add("articles.publish", 2)
    eventually(lambda: executed(trial) == 2, message=lambda: trial.workers.output)
    assert "has hung for" in trial.workers.output
    assert trial.workers.stop() == 0


@pytest.mark.thorough
def test_workers_that_are_stopped_with_their_supervisor_go_on(stand: Stand) -> None:
    """As when a machine is suspended: nothing hangs, and nothing is wrong with Redis."""
    trial = Trial(stand, tasks=0, seconds=0, env={"TEST_SETTINGS": '{"SCHEDULING_SILENCE": 8}'})
    trial.reset()
    trial.start_workers()
    before = children(trial.workers.pid)
    processes = [trial.workers.pid, *before]
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    stopped_at = time.monotonic()
    eventually(lambda: time.monotonic() > stopped_at + 12)
    for pid in processes:
        os.kill(pid, signal.SIGCONT)
    trial.add("articles.publish", 2)
    eventually(lambda: executed(trial) == 2, message=lambda: trial.workers.output)
    assert children(trial.workers.pid) == before
    assert "has hung" not in trial.workers.output
    assert "silent" not in trial.workers.output
    assert trial.workers.stop() == 0


@pytest.mark.thorough
def test_a_worker_that_stands_still_ends_with_the_others(stand: Stand) -> None:
    """A signal does not reach a stopped process, nor one that hangs with the interpreter's lock."""
    trial = Trial(stand, tasks=0, seconds=0)
    trial.reset()
    trial.start_workers()
    os.kill(children(trial.workers.pid)[0], signal.SIGSTOP)
    trial.workers.send_signal(signal.SIGTERM)
    trial.workers.wait()
    assert trial.workers.wait() == 0


@pytest.mark.parametrize(
    ("program", "is_limited"),
    [
        pytest.param(["-c", "import headline.wsgi"], True, id="web server"),
        pytest.param(
            ["manage.py", "shell", "--verbosity", "0", "-c", ""], False, id="command", marks=pytest.mark.thorough
        ),
    ],
)
def test_what_serves_gives_up_and_what_a_person_waits_for_does_not(
    stand: Stand, program: list[str], is_limited: bool
) -> None:
    """Migrations and imports have no timeout."""
    code = "from django.db import connection as c; c.cursor().execute('SELECT SLEEP(4)'); print('answered')"
    process = stand.start(*program[:-1], f"{program[-1]}\n{code}", env={"DATABASE_TIMEOUT": "2"})
    process.wait()
    assert ("answered" in process.output) is not is_limited, process.output
    assert ("max_statement_time" in process.output) is is_limited, process.output


@pytest.mark.thorough
def test_a_read_only_database_is_named_though_no_worker_can_say_so(stand: Stand) -> None:
    """On servers of its own, because the variable is global."""
    ask = "from django.test import Client; print(list(Client().get('/readyz').json()['trouble']))"
    try:
        for value, trouble in ((1, "['read_only']"), (0, "[]")):
            with stand.connect() as connection:
                connection.cursor().execute(f"SET GLOBAL read_only = {value}")
            assert stand.call("manage.py", "shell", "--verbosity", "0", "-c", ask).strip() == trouble
    finally:
        with stand.connect() as connection:
            connection.cursor().execute("SET GLOBAL read_only = 0")
