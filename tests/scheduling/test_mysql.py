"""The database backend sends `BEGIN` and pipelined writes with other statements, and loses none of their guarantees."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.transaction import TransactionManagementError

from scheduling.compiled import pipelined
from tests.harness import eventually

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
            run("INSERT INTO pipelined SELECT seq, 0 FROM seq_1000_to_1100")
            run("DELETE FROM pipelined WHERE id >= 1000")
            run("UPDATE pipelined SET number = 20 WHERE id = 1")
    finally:
        connection.close()


def _another_waits() -> bool:
    return run("SELECT 1 FROM information_schema.processlist WHERE info LIKE 'UPDATE%number = 20 WHERE id = 1'") > 0


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
