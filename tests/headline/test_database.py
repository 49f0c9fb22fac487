"""Options of database connections."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection

from headline.database import is_serving, is_web, mysql_options
from scheduling.database import Collision, Trouble, trouble_of

GUNICORN = ["/venv/bin/gunicorn", "headline.wsgi"]


@pytest.mark.parametrize(
    "arguments",
    [
        GUNICORN,
        ["/venv/lib/gunicorn/__main__.py", "headline.wsgi"],  # python -m gunicorn
        ["/venv/lib/uvicorn/__main__.py", "headline.asgi:application"],
        ["manage.py", "poll", "--forever"],
        ["/venv/lib/django/__main__.py", "refresh"],
    ],
)
def test_what_serves_has_timeouts(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", arguments)
    assert is_serving(arguments)
    assert mysql_options(8)["read_timeout"] == 8


@pytest.mark.parametrize("program", ["manage.py", "/venv/bin/django-admin", "/venv/lib/django/__main__.py"])
def test_a_command_that_a_person_waits_for_has_none(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [program, "migrate"])
    assert "read_timeout" not in mysql_options(8)


@pytest.mark.django_db(transaction=True)
def test_the_database_ends_a_web_servers_statement_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if connection.vendor != "mysql":
        pytest.skip("SQLite's statements run in this process")
    monkeypatch.setattr("sys.argv", GUNICORN)
    with connection.cursor() as cursor:
        cursor.execute(mysql_options(2)["init_command"].strip())
        with pytest.raises(OperationalError) as caught:
            cursor.execute("SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b WHERE a.seq % 2 = b.seq % 2")
    connection.close()
    assert trouble_of(caught.value) is Trouble.STOPPED


def test_workers_have_no_limit_of_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit may wait for a backup, and its error would not say whether it was done."""
    worker = ["manage.py", "poll", "--forever"]
    monkeypatch.setattr("sys.argv", worker)
    assert is_serving(worker)
    assert not is_web(worker)
    assert "max_statement_time" not in mysql_options(8)["init_command"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("arguments", [GUNICORN, ["manage.py", "poll", "--forever"], ["manage.py", "export"]])
def test_mariadb_reads_no_rows_through_a_rowid_filter(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With one, an EXISTS loses rows in MariaDB 10.11."""
    if connection.vendor != "mysql":
        pytest.skip("a switch of MariaDB's optimizer")
    monkeypatch.setattr("sys.argv", arguments)
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION optimizer_switch=default")
        cursor.execute(mysql_options(8)["init_command"])
        cursor.execute("SELECT @@optimizer_switch")
        assert "rowid_filter=off" in cursor.fetchone()[0]
    connection.close()


def test_a_collision_is_no_other_trouble_whatever_it_names() -> None:
    assert {trouble_of(Collision(number)) for number in (3, 1036, 2006)} == {Trouble.LOCKS}  # errors have these, too
