"""Two installations on one Redis share neither hints nor cached pages."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import OperationalError, connection, transaction

from scheduling import identity
from scheduling.database import read_database_clock
from scheduling.models import Installation, TaskInfo
from scheduling.queues.topics import encode_id
from scheduling.services import add_task
from tests.conftest import Manage, database_environment
from tests.harness import Server, start_redis

pytestmark = pytest.mark.django_db(transaction=True)

OWN_KEYS = {"TEST_SETTINGS": json.dumps({"SCHEDULING_KEY_PREFIX": "auto"})}


@pytest.fixture(autouse=True)
def _asks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_identity", identity._Identity())


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[tuple[Server, redis.Redis]]:
    """One Redis, for the queue and the response cache."""
    server = start_redis(tmp_path / "redis")
    with redis.Redis.from_url(server.url) as client:
        yield server, client
    server.kill()


@pytest.fixture
def copied(tmp_path: Path, transactional_db: None) -> Iterator[str]:
    """The URL of a copy of the database, which `copy()` makes."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{tmp_path / 'copy.sqlite3'}"
        return
    name = f"{connection.settings_dict['NAME']}_copy"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
    yield database_environment()["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE `{name}`")


def copy(address: str, *tables: str) -> None:
    """Copy every row, like a restored backup; or those of some tables alone."""
    if connection.vendor == "sqlite":
        connection.close()
        shutil.copy(str(connection.settings_dict["NAME"]), address.removeprefix("sqlite:///"))
        return
    there = address.rpartition("/")[2]
    with connection.cursor() as cursor:
        for table in tables or connection.introspection.table_names(cursor):
            cursor.execute(f"CREATE TABLE `{there}`.`{table}` LIKE `{table}`")
            cursor.execute(f"INSERT INTO `{there}`.`{table}` SELECT * FROM `{table}`")


def environments(server: Server, copied: str) -> tuple[dict[str, str], dict[str, str]]:
    """The environments of production and of the copy, which uses production's Redis."""
    here = {**OWN_KEYS, "REDIS_URL": f"{server.url}/0", "REDIS_CACHE_URL": f"{server.url}/1"}
    return here, {**here, "DATABASE_URL": copied}


def keys(client: redis.Redis) -> set[str]:
    return {key.decode() for key in client.scan_iter("*")}


def test_a_copy_pops_no_hint_of_the_original(manage: Manage, copied: str, shared: tuple[Server, redis.Redis]) -> None:
    server, client = shared
    here, there = environments(server, copied)
    due = read_database_clock() + timedelta(seconds=60)
    for _number in range(3):
        add_task("probe.note", execute_time=due, parameters={})
    copy(copied)
    assert "loaded=3" in manage("refresh", env=here).stdout
    waiting = list(TaskInfo.objects.values_list("pk", flat=True))
    future = next(key for key in keys(client) if ":future:" in key)
    client.zadd(future, {encode_id(number): 1 for number in waiting}, xx=True)  # due
    before = client.zcard(future)
    done = manage("poll", env=there)
    assert done.returncode == 0, done.stderr
    assert client.zcard(future) == before == 3
    assert not any(key.startswith(("sched:future", "sched:ready")) for key in keys(client))


def test_a_copy_serves_no_page_of_the_original(manage: Manage, copied: str, shared: tuple[Server, redis.Redis]) -> None:
    here, there = environments(shared[0], copied)
    copy(copied, Installation._meta.db_table)

    def run(code: str, env: dict[str, str]) -> str:
        code = f"from django.core.cache import caches; c = caches['responses']; {code}"
        done = manage("shell", "--no-imports", "--command", code, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    assert run("c.set('pages:x', 'ours')", here) == ""
    assert run("print(c.get('pages:x'))", there) == "None"
    assert run("print(c.get('pages:x'))", here) == "ours"


@pytest.mark.thorough
def test_installations_that_share_a_redis_are_warned(
    manage: Manage, copied: str, shared: tuple[Server, redis.Redis]
) -> None:
    here, there = environments(shared[0], copied)
    copy(copied)
    assert manage("refresh", env=here).returncode == 0
    assert "W023" not in manage("check", "--database", "default", env=here).stderr
    done = manage("check", "--database", "default", env=there)
    original, restored = str(connection.settings_dict["NAME"]), copied.rpartition("///")[2].rpartition("/")[2]
    assert "scheduling.W023" in done.stderr
    assert original in done.stderr and restored in done.stderr
    assert "REDIS_KEY_PREFIX" in done.stderr
    assert original in manage("refresh", env=there).stderr


def test_all_processes_of_an_installation_have_one_identity(manage: Manage) -> None:
    code = "from scheduling.identity import identity; print(identity())"
    found = {manage("shell", "--no-imports", "--command", code).stdout.strip() for _time in range(2)}
    assert found == {identity.identity()}


def test_a_configured_prefix_wins(settings: Any) -> None:
    settings.SCHEDULING_KEY_PREFIX = "newsroom"
    assert identity.key_prefix() == "newsroom"
    assert identity.cache_key("pages:x", "", 1) == "newsroom:1:pages:x"
    settings.SCHEDULING_KEY_PREFIX = identity.AUTO
    assert identity.key_prefix() == f"sched:{identity.identity()}"


def test_another_row_or_another_server_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    Installation.objects.update_or_create(pk=1)
    first = identity.identity()
    Installation.objects.all().delete()
    monkeypatch.setattr(identity, "_identity", identity._Identity())
    assert identity.identity() != first
    Installation.objects.all().delete()
    monkeypatch.setattr(identity, "_identity", identity._Identity())
    with transaction.atomic():
        identity.identity()
        transaction.set_rollback(True)
    assert identity._identity.known is None, "what was rolled back is not remembered"


def test_the_identity_is_queried_once(django_assert_num_queries: Any) -> None:
    identity.identity()
    with django_assert_num_queries(0):
        identity.identity()


@pytest.fixture
def fail_over(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """The database is another server from now on, for connections that ask."""
    server = identity._server()
    return lambda: monkeypatch.setattr(identity, "_server", lambda: dict.fromkeys(server, "new"))


def test_a_new_connection_asks_again_which_server_it_is(
    fail_over: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    first = identity.identity()
    connection.close()
    connection.ensure_connection()
    assert (identity.identity(), caplog.messages) == (first, [])
    fail_over()
    assert identity.identity() == first, "this connection is still to the server of before"
    connection.close()
    connection.ensure_connection()
    second = identity.identity()
    assert second != first
    (message,) = caplog.messages
    assert second in message


def test_a_process_without_a_connection_asks_after_a_while(
    mariadb: None, fail_over: Callable[[], None], settings: Any
) -> None:
    first = identity.identity()
    connection.close()
    fail_over()
    assert identity.identity() == first
    settings.SCHEDULING_IDENTITY_INTERVAL = 0
    assert identity.identity() != first
    assert connection.connection is None, "it was asked over a connection that is closed again"


def test_trouble_of_the_database_makes_no_other_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process would use other keys than all others: lost hints, and pages that are not invalidated."""

    def refuse(*arguments: object) -> None:
        raise OperationalError(1047, "WSREP has not yet prepared node for application use")

    with connection.execute_wrapper(refuse), pytest.raises(OperationalError):
        identity.identity()
    assert identity._identity.known is None
    known = identity.identity()
    connection.close()
    connection.ensure_connection()
    monkeypatch.setattr(identity, "_server", refuse)
    assert identity.identity() == known, "without an answer it stays"
