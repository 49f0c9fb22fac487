"""System checks, each on a real misconfiguration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.checks import Tags, run_checks
from django.db import connection
from django.db.models import Model
from pytest_django import DjangoDbBlocker

from articles.models import Article
from tests.conftest import Manage
from tests.harness import Server, free_port, start_redis

pytestmark = pytest.mark.django_db(transaction=True)

INVALID_SETTINGS = [
    ("PRELOAD_WINDOW", "300", "E001"),
    ("PRELOAD_WINDOW", 0, "E001"),
    ("BATCH_SIZE", 0.5, "E001"),
    ("BATCH_SIZE", True, "E001"),
    ("MAX_ATTEMPTS", -1, "E001"),
    ("MAX_SLEEP", float("inf"), "E001"),
    ("MAX_SLEEP", float("nan"), "E001"),
    ("KEY_PREFIX", None, "E001"),
    ("PRELOAD_WINDOW", 30, "E002"),
    ("LEASE", 7200, "E002"),
    ("MAX_BACKOFF", 1, "E002"),
    ("OVERDUE_ALARM", 0.1, "E002"),
    ("PROMOTE_LIMIT", 20_000, "E002"),
    ("PRELOAD_WINOW", 300, "W003"),
    ("KEY_PREFIX", "news{1}", "E004"),
    ("KEY_PREFIX", "", "E004"),
    ("SILENCE", 4, "E002"),
    ("SIDE_EFFECT_THREADS", 0, "E001"),
    ("REDIS_URL", "http://localhost:6379", "E005"),
    ("REDIS_URL", "localhost", "E005"),
]


def found(*, servers: bool = False) -> list[str]:
    """Ids of the messages of the engine's checks."""
    messages = run_checks(tags=[Tags.database], databases=["default"]) if servers else run_checks()
    ours = [message for message in messages if message.id and message.id.startswith("scheduling")]
    assert all(message.hint for message in ours)
    return [str(message.id) for message in ours]


def test_a_correct_installation_has_no_messages() -> None:
    assert found() == []
    assert found(servers=True) == []


@pytest.mark.cases(8)
@pytest.mark.parametrize(("name", "value", "complaint"), INVALID_SETTINGS)
def test_invalid_settings_are_reported(settings: Any, name: str, value: object, complaint: str) -> None:
    """R3.5"""
    setattr(settings, f"SCHEDULING_{name}", value)
    assert found() == [f"scheduling.{complaint}"]


class ReadsFromReplica:
    """A router as in Django's documentation."""

    def db_for_read(self, model: type[Model], **hints: object) -> str:
        return "replica" if model is Article else "default"

    def db_for_write(self, model: type[Model], **hints: object) -> str:
        return "default"


def test_a_model_that_is_read_from_a_replica_is_reported(settings: Any) -> None:
    """Readers would see an article by the replica's clock."""
    settings.DATABASE_ROUTERS = ["tests.scheduling.test_checks.ReadsFromReplica"]
    assert found() == ["scheduling.E015"]
    settings.DATABASE_ROUTERS = []
    assert found() == []


@pytest.mark.parametrize("name", ["SWEEP_GRACE", "LOG_RETENTION_DAYS", "SUSPECT_AFTER"])
def test_some_settings_may_be_zero(settings: Any, name: str) -> None:
    setattr(settings, f"SCHEDULING_{name}", 0)
    assert found() == []


@pytest.mark.parametrize(
    ("queue_url", "cache_url", "shared"),
    [
        ("redis://localhost:6379/0", "redis://localhost", True),
        ("redis://localhost/1", "redis://:secret@localhost:6379?db=1", True),
        ("redis://localhost/0", "redis://localhost/1", False),
        ("redis://localhost/0", "redis://localhost:6380/0", False),
        ("unix:///run/redis.sock", "unix:///run/redis.sock?db=0", True),
        ("unix:///run/redis.sock", "unix:///run/redis.sock?db=1", False),
        ("redis+sentinel://a:1,b:1/news/0", "redis+sentinel://a:1,b:1/news/0", True),
        ("redis+cluster://a:1,b:1", "redis+cluster://a:1,b:1", True),
        ("", "redis://localhost/0", False),
    ],
)
def test_the_cache_may_not_live_in_the_queues_database(
    settings: Any, queue_url: str, cache_url: str, shared: bool
) -> None:
    settings.SCHEDULING_REDIS_URL = queue_url
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache", "LOCATION": [cache_url]}}
    assert found() == ["scheduling.E006"] * shared


@pytest.fixture
def reconnect(mariadb: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """`reconnect(charset="latin1")` reopens the connection with other OPTIONS."""

    def reopen(**options: object) -> None:
        connection.close()
        monkeypatch.setitem(connection.settings_dict, "OPTIONS", connection.settings_dict["OPTIONS"] | options)
        connection.ensure_connection()

    yield reopen
    monkeypatch.undo()
    connection.close()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"isolation_level": "repeatable read"}, "E011"),
        ({"isolation_level": None}, "E011"),
        ({"init_command": "SET sql_mode='NO_ENGINE_SUBSTITUTION'"}, "E012"),
        ({"charset": "utf8mb3"}, "E013"),
    ],
)
def test_a_connection_with_the_wrong_options_is_reported(
    reconnect: Callable[..., None], options: dict[str, object], complaint: str
) -> None:
    reconnect(**options)
    assert found(servers=True) == [f"scheduling.{complaint}"]


@pytest.fixture
def scratch(mariadb: None) -> Iterator[Callable[[str], None]]:
    """A database in latin1, in which the returned function runs statements."""
    own, other = connection.settings_dict["NAME"], f"{connection.settings_dict['NAME']}_latin1"

    def run(sql: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql)

    run(f"CREATE DATABASE {other} CHARACTER SET latin1")
    run(f"USE {other}")
    yield run
    run(f"DROP DATABASE {other}")
    run(f"USE {own}")


def test_a_database_and_tables_that_lose_characters_or_rows_are_reported(scratch: Callable[[str], None]) -> None:
    assert found(servers=True) == ["scheduling.E013"]
    scratch("ALTER DATABASE CHARACTER SET utf8mb4")
    scratch("CREATE TABLE taskinfo (id int) CHARACTER SET utf8mb3")
    scratch("CREATE TABLE taskinfo_logs (id int) ENGINE = MyISAM")
    assert sorted(found(servers=True)) == ["scheduling.E013", "scheduling.E014"]


@pytest.mark.parametrize(("is_mariadb", "version"), [(True, (10, 5, 28)), (False, (5, 7, 44)), (False, (8, 0, 0))])
def test_a_database_without_skip_locked_is_too_old(
    mariadb: None, monkeypatch: pytest.MonkeyPatch, is_mariadb: bool, version: tuple[int, ...]
) -> None:
    monkeypatch.setitem(connection.__dict__, "mysql_is_mariadb", is_mariadb)
    monkeypatch.setitem(connection.__dict__, "mysql_version", version)
    assert "scheduling.E010" in found(servers=True)


@pytest.mark.parametrize(
    ("is_mariadb", "version", "complaints"),
    [
        (True, (11, 8, 6), []),
        (True, (12, 0, 2), ["MariaDB 12.0 is not tested."]),
        (False, (9, 7, 4), []),
        (False, (10, 1, 0), ["MySQL 10.1 is not tested."]),
    ],
)
def test_a_newer_database_than_tested_is_reported(
    mariadb: None, monkeypatch: pytest.MonkeyPatch, is_mariadb: bool, version: tuple[int, ...], complaints: list[str]
) -> None:
    monkeypatch.setitem(connection.__dict__, "mysql_is_mariadb", is_mariadb)
    monkeypatch.setitem(connection.__dict__, "mysql_version", version)
    assert [message.msg for message in run_checks(tags=[Tags.database], databases=["default"])] == complaints


@pytest.mark.parametrize(
    ("described", "brand"),
    [("version 8.0.36-28 version_comment Percona Server (GPL)", "Percona"), ("aurora_version 3.08.0", "Aurora")],
)
def test_a_database_of_another_brand_is_reported(
    mariadb: None, monkeypatch: pytest.MonkeyPatch, described: str, brand: str
) -> None:
    monkeypatch.setattr("scheduling.checks._describe_server", lambda: described)
    (message,) = run_checks(tags=[Tags.database], databases=["default"])
    assert message.msg.startswith(f"{brand} ")
    assert message.id == "scheduling.W018"


def test_an_unsupported_database_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle")
    assert found(servers=True) == ["scheduling.E010"]


@pytest.fixture
def own_redis(tmp_path: Path, settings: Any) -> Iterator[Server]:
    server = start_redis(tmp_path)
    settings.SCHEDULING_REDIS_URL = server.url
    yield server
    server.kill()


def test_an_unreachable_redis_is_a_warning_because_the_database_serves(own_redis: Server) -> None:
    assert found(servers=True) == []
    own_redis.kill()
    assert found(servers=True) == ["scheduling.W020"]


@pytest.mark.parametrize(
    ("policy", "complaints"),
    [
        ("noeviction", []),
        ("volatile-lru", []),
        ("allkeys-lru", ["scheduling.W022"]),
        ("allkeys-random", ["scheduling.W022"]),
    ],
)
def test_a_redis_that_may_evict_the_queue_is_reported(own_redis: Server, policy: str, complaints: list[str]) -> None:
    with redis.Redis.from_url(own_redis.url) as client:
        client.config_set("maxmemory-policy", policy)
    assert found(servers=True) == complaints


@pytest.mark.parametrize(
    ("info", "complaints"),
    [
        ({"redis_version": "7.2.4", "valkey_version": "9.1.2"}, []),
        ({"redis_version": "7.2.4", "valkey_version": "10.0.1"}, ["Valkey 10.0 is not tested."]),
        ({"redis_version": "9.0.1", "valkey_version": ""}, ["Redis 9.0 is not tested."]),
        ({"redis_version": "7.4.0", "dragonfly_version": "df-v1.27.1"}, ["Dragonfly 1.27 is not tested."]),
    ],
)
def test_a_redis_of_another_kind_or_newer_than_tested_is_reported(
    settings: Any, monkeypatch: pytest.MonkeyPatch, info: dict[str, str], complaints: list[str]
) -> None:
    settings.SCHEDULING_REDIS_URL = "redis://localhost"
    monkeypatch.setattr("scheduling.queues.redis.RedisQueue.server_info", lambda queue: info)
    assert [message.msg for message in run_checks(tags=[Tags.database], databases=["default"])] == complaints


@pytest.mark.parametrize(
    ("version", "complaints"), [("6.0.16", ["scheduling.E021"]), ("6.2.0", []), ("8.0.2", []), ("", [])]
)
def test_a_redis_that_is_too_old_is_reported(
    settings: Any, monkeypatch: pytest.MonkeyPatch, version: str, complaints: list[str]
) -> None:
    settings.SCHEDULING_REDIS_URL = "redis://localhost"
    monkeypatch.setattr("scheduling.queues.redis.RedisQueue.server_info", lambda queue: {"redis_version": version})
    assert found(servers=True) == complaints


def test_plain_checks_query_no_server(settings: Any, django_db_blocker: DjangoDbBlocker) -> None:
    settings.SCHEDULING_REDIS_URL = f"redis://127.0.0.1:{free_port()}"
    with django_db_blocker.block():
        assert found() == []


def test_migrate_warns_of_an_unreachable_redis_and_continues(manage: Manage) -> None:
    done = manage("migrate", env={"REDIS_URL": f"redis://127.0.0.1:{free_port()}"})
    assert done.returncode == 0, done.stderr
    assert "scheduling.W020" in done.stderr
