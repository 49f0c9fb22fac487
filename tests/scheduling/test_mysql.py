"""The database backend sends pipelined writes with other statements, and loses none of their guarantees."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import Any

import MySQLdb
import pytest
from django.db import IntegrityError, OperationalError, connection, connections, transaction
from django.db.transaction import TransactionManagementError

from articles.models import Article
from scheduling.database import lock_by_ids, pipelined
from scheduling.database.mysql import servers as mysql_servers
from tests.harness import HOST, eventually, free_port

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mariadb")]


@pytest.fixture(autouse=True)
def table() -> Iterator[None]:
    """Two rows, 1 and 2, of which each has a number."""
    run("CREATE TABLE pipelined (id int PRIMARY KEY, number int NOT NULL, CHECK (number < 100))")
    run("INSERT INTO pipelined VALUES (1, 0), (2, 0)")
    yield
    run("DROP TABLE pipelined")


@pytest.fixture
def sent() -> Iterator[list[bytes]]:
    """What is sent to the server: a round trip each."""
    packets: list[bytes] = []
    connection.ensure_connection()
    query = connection.connection.query

    def noted(text: bytes) -> None:
        packets.append(bytes(text))
        query(text)

    connection.connection.query = noted
    yield packets
    connection.close()


def run(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.rowcount)


def write(sql: str) -> None:
    with pipelined():
        run(sql)


def numbers() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT number FROM pipelined ORDER BY id")
        return [number for (number,) in cursor.fetchall()]


def test_a_transaction_begins_with_its_first_statement(sent: list[bytes]) -> None:
    with transaction.atomic():
        assert run("UPDATE pipelined SET number = 5") == 2
        assert run("UPDATE pipelined SET number = 6 WHERE id = 1") == 1
    assert [len(packet.split(b"; ")) for packet in sent] == [2, 1, 1]
    assert (numbers(), connection.get_autocommit()) == ([6, 5], True)


def test_pipelined_writes_are_sent_with_the_next_query_or_the_commit(sent: list[bytes]) -> None:
    with transaction.atomic():
        write("UPDATE pipelined SET number = 7 WHERE id = 1")
        assert numbers() == [7, 0]
        write("UPDATE pipelined SET number = 8 WHERE id = 2")
        write("INSERT INTO pipelined VALUES (3, 9)")
    assert len(sent) == 2
    assert numbers() == [7, 8, 9]


def test_without_a_transaction_a_write_is_sent_at_once(sent: list[bytes]) -> None:
    write("UPDATE pipelined SET number = 1")
    assert len(sent) == 1


def test_an_empty_transaction_sends_nothing(sent: list[bytes]) -> None:
    with transaction.atomic():
        pass
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        raise ZeroDivisionError
    assert sent == []


def test_a_rollback_drops_what_was_not_sent(sent: list[bytes]) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        write("UPDATE pipelined SET number = 1")
        raise ZeroDivisionError
    assert sent == []
    assert numbers() == [0, 0]


@pytest.mark.parametrize(
    "failing", ["INSERT INTO pipelined VALUES (2, 0)", "UPDATE pipelined SET number = 100", "UPDATE pipelined SET id=1"]
)
def test_an_error_of_a_pipelined_write_rolls_all_back(failing: str) -> None:
    for ending in ("SELECT 1", ""):
        with pytest.raises(IntegrityError), transaction.atomic():
            write("UPDATE pipelined SET number = 1")
            write(failing)
            write("UPDATE pipelined SET number = 2")
            if ending:
                run(ending)
        assert numbers() == [0, 0]


def test_an_error_in_a_savepoint_ends_with_it() -> None:
    with transaction.atomic():
        write("UPDATE pipelined SET number = 1 WHERE id = 1")
        with pytest.raises(IntegrityError), transaction.atomic():
            write("INSERT INTO pipelined VALUES (2, 0)")
        write("UPDATE pipelined SET number = 2 WHERE id = 2")
    assert numbers() == [1, 2]


def test_a_rollback_to_a_savepoint_drops_what_was_not_sent() -> None:
    with transaction.atomic():
        run("UPDATE pipelined SET number = 1 WHERE id = 1")
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            write("INSERT INTO pipelined VALUES (2, 0)")
            raise ZeroDivisionError
    assert numbers() == [1, 0]


def test_an_error_of_a_pipelined_write_cannot_be_taken_for_one_of_a_later_block() -> None:
    """Services retry a block whose insert collides; here an earlier write failed, and others were not executed."""
    with pytest.raises(TransactionManagementError), transaction.atomic():
        write("INSERT INTO pipelined VALUES (2, 0)")
        write("UPDATE pipelined SET number = 1")
        for _ in range(2):
            with suppress(IntegrityError), transaction.atomic():
                run("INSERT INTO pipelined VALUES (3, 3)")
    assert numbers() == [0, 0]


def test_nothing_is_committed_alone_after_a_deadlock() -> None:
    """The server has rolled the transaction back, so that later statements would have no transaction."""
    with pytest.raises((OperationalError, TransactionManagementError)), transaction.atomic():
        run("UPDATE pipelined SET number = 1 WHERE id = 1")
        other = Thread(target=_lock_both_from_the_second)
        other.start()
        eventually(_another_waits)
        with pytest.raises(OperationalError, match="Deadlock"):
            run("UPDATE pipelined SET number = 1 WHERE id = 2")
        run("INSERT INTO pipelined VALUES (3, 3)")
    other.join()
    assert numbers() == [20, 20]


def _lock_both_from_the_second() -> None:
    """Many rows were changed by it, so that the other one is the victim."""
    try:
        with transaction.atomic():
            run("UPDATE pipelined SET number = 20 WHERE id = 2")
            run(f"INSERT INTO pipelined VALUES {', '.join(f'({number}, 0)' for number in range(1000, 1100))}")
            run("DELETE FROM pipelined WHERE id >= 1000")
            run("UPDATE pipelined SET number = 20 WHERE id = 1")
    finally:
        connection.close()


def _another_waits() -> bool:
    return run("SELECT 1 FROM information_schema.processlist WHERE info LIKE 'UPDATE%number = 20 WHERE id = 1'") > 0


def test_nothing_is_committed_alone_after_the_server_ended_the_transaction(sent: list[bytes]) -> None:
    run("CREATE TABLE unrelated (id int)")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        run("UPDATE pipelined SET number = 1")
        run("DROP TABLE unrelated")  # an implicit commit
        run("UPDATE pipelined SET number = 2")
        raise ZeroDivisionError
    assert numbers() == [1, 1]


def test_a_transaction_may_begin_by_setting_its_isolation_level() -> None:
    with transaction.atomic():
        run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
        run("UPDATE pipelined SET number = 1")
    assert numbers() == [1, 1]


def test_turning_autocommit_on_ends_the_transaction() -> None:
    transaction.set_autocommit(False)
    run("UPDATE pipelined SET number = 1")
    transaction.set_autocommit(True)
    run("UPDATE pipelined SET number = 2 WHERE id = 2")
    connection.close()
    assert numbers() == [1, 2]


def test_transactions_without_autocommit_follow_each_other() -> None:
    transaction.set_autocommit(False)
    try:
        run("UPDATE pipelined SET number = 1")
        transaction.commit()
        run("UPDATE pipelined SET number = 2")
        transaction.rollback()
    finally:
        transaction.rollback()
        transaction.set_autocommit(True)
    assert numbers() == [1, 1]


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, int]]]:
    """The servers of the database: one that is down, then the real one."""
    monkeypatch.setattr(mysql_servers, "_failed_at", {})
    here = str(connection.settings_dict["HOST"]), int(connection.settings_dict["PORT"])
    given = [(HOST, free_port()), here]
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "servers", given)
    connection.close()
    yield given
    monkeypatch.undo()
    connection.close()


def test_another_server_is_used_while_the_first_one_is_down(servers: list[tuple[str, int]]) -> None:
    assert numbers() == [0, 0]
    assert connection.is_usable()
    assert list(mysql_servers._failed_at) == servers[:1], "which is tried last for some seconds"


class FakeConnection:
    """To a server that is read-only, or takes no statements, as a Galera node without a majority."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer
        self.is_open = True

    def query(self, sql: str) -> None:
        if isinstance(self.answer, Exception):
            raise self.answer

    def store_result(self) -> FakeConnection:
        return self

    def fetch_row(self) -> Any:
        return ((self.answer,),)

    def close(self) -> None:
        self.is_open = False


def test_only_servers_that_take_writes_are_used(servers: list[tuple[str, int]]) -> None:
    no_majority = MySQLdb.OperationalError(1047, "WSREP has not yet prepared node for application use")
    found = {"a": FakeConnection(no_majority), "b": FakeConnection("1"), "c": FakeConnection("0")}
    names = [(name, 3306) for name in found]
    assert mysql_servers.connect_to_any(names, lambda host, port: found[host]) is found["c"]
    assert [one.is_open for one in found.values()] == [False, False, True]
    with pytest.raises(MySQLdb.OperationalError, match="takes writes"):
        mysql_servers.connect_to_any(names[1:2], lambda host, port: found[host])


@pytest.mark.parametrize(("answer", "is_usable"), [("0", True), ("OFF", True), ("1", False), ("ON", False)])
def test_a_connection_to_a_server_that_became_read_only_is_replaced(answer: str, is_usable: bool) -> None:  # noqa: FBT001
    """The next one may lead to another server."""
    other: Any = connection.copy()
    other.connection = FakeConnection(answer)
    assert other.is_usable() is is_usable


def test_a_new_connection_learns_what_its_server_is() -> None:
    """It may be another one than before, as after a failover."""
    here = connections["default"]
    here.close()
    before = here.mysql_version  # type: ignore[attr-defined]
    here.mysql_server_data |= {"version": "8.0.30"}  # type: ignore[attr-defined]
    for name in ("mysql_version", "mysql_server_info", "mysql_is_mariadb"):
        vars(here).pop(name, None)
    here.features = here.features_class(here)
    vars(here)["compiled_once"] = {"of": "that server"}
    assert (here.mysql_version, here.mysql_is_mariadb) == ((8, 0, 30), False)  # type: ignore[attr-defined]
    assert not here.features.has_native_uuid_field
    here.close()
    here.ensure_connection()
    assert here.mysql_version == before  # type: ignore[attr-defined]
    assert "compiled_once" not in vars(here)


@pytest.mark.parametrize("count", [999, 1000, 1001])
def test_locks_of_many_rows_lock_no_others(count: int) -> None:
    """MariaDB joins a list of 1,000 as a table, and scans a small table for it."""
    Article.objects.bulk_create(
        Article(title=f"No. {number}", status=Article.Status.APPROVED) for number in range(1050)
    )
    ids = sorted(Article.objects.values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE TABLE articles_article")
        cursor.fetchall()
    other = connection.copy()
    with transaction.atomic():
        assert len(lock_by_ids(Article, ids[:count])) == count
        with other.cursor() as cursor:
            cursor.execute("SELECT id FROM articles_article FOR UPDATE SKIP LOCKED")
            free = len(cursor.fetchall())
    other.close()
    assert free == 1050 - count


def test_a_connection_whose_settings_fail_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_self: object) -> None:
        raise MySQLdb.OperationalError(1969, "Query execution was interrupted")

    connection.close()
    with monkeypatch.context() as patch:
        patch.setattr("django.db.backends.mysql.base.DatabaseWrapper.init_connection_state", fail)
        with pytest.raises(OperationalError):
            run("SELECT 1")
    with connection.cursor() as cursor:
        cursor.execute("SELECT @@in_predicate_conversion_threshold, @@tx_isolation")
        assert cursor.fetchone() == (0, "READ-COMMITTED")


def test_the_former_path_of_the_backend_works_and_warns() -> None:
    sys.modules.pop("scheduling.mysql.base", None)
    with pytest.warns(DeprecationWarning, match="scheduling.database.mysql"):
        former = import_module("scheduling.mysql.base")
    assert former.DatabaseWrapper is import_module("scheduling.database.mysql.base").DatabaseWrapper
