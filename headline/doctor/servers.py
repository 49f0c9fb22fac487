"""Checks of the database: version, migrations, tables and triggers, reads from a replica, server settings."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.utils.translation import gettext as _

from headline.doctor.findings import Area, DoctorFinding, Level
from scheduling.database import Trouble, is_read_only, trouble_of
from scheduling.models import WorkerHeartbeat

_HEARTBEATS = WorkerHeartbeat._meta.db_table
_WRITES = {
    "INSERT": f"INSERT INTO {_HEARTBEATS} SELECT * FROM {_HEARTBEATS} WHERE 1 = 0",  # noqa: S608 (a constant)
    "UPDATE": f"UPDATE {_HEARTBEATS} SET queue = queue WHERE 1 = 0",  # noqa: S608
    "DELETE": f"DELETE FROM {_HEARTBEATS} WHERE 1 = 0",  # noqa: S608
}
_NAMED = 5  # missing tables in a sentence
_LEAST_PACKET = 16 * 1024 * 1024  # bytes; the longest article takes four million


def database_name() -> str:
    """Kind and version of the database, such as "MariaDB 10.11.6"."""
    if connection.vendor == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    name = "MariaDB" if connection.mysql_is_mariadb else "MySQL"  # type: ignore[attr-defined]
    return f"{name} {'.'.join(map(str, connection.mysql_version))}"  # type: ignore[attr-defined]


def check_database() -> Iterator[DoctorFinding]:
    """The tables are complete, and reads and writes go to one server that accepts both."""
    yield from list(_check_rights()) or list(_check_migrations()) or _check_tables()
    if connection.vendor == "mysql":
        yield from _check_primary()
        yield from _check_server()


def _check_rights() -> Iterator[DoctorFinding]:
    """Statements that change no row need the same rights as others."""
    if _HEARTBEATS not in _tables():
        return
    refused = [verb for verb, statement in _WRITES.items() if _is_refused(statement)]
    if refused and not (connection.vendor == "mysql" and is_read_only()):
        text = _("The database refuses what its user writes (%(verbs)s): the user may only read.")
        if connection.vendor == "sqlite":
            advice = _("Let the user of Headline write the file of the database, and its directory.")
        else:
            advice = _("Grant the user all privileges on the database: GRANT ALL ON database.* TO user.")
        yield DoctorFinding(
            Area.DATABASE, Level.FAILURE, text % {"verbs": ", ".join(refused)}, advice, "database_user_reads"
        )


def _is_refused(statement: str) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
    except DatabaseError as error:
        return trouble_of(error) is not Trouble.LOCKS
    return False


def _check_migrations() -> Iterator[DoctorFinding]:
    executor = MigrationExecutor(connection)
    if plan := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        text = _("Migrations that are not applied: %(count)d.") % {"count": len(plan)}
        yield DoctorFinding(Area.DATABASE, Level.FAILURE, text, _("Run manage.py upgrade, which makes a backup first."))


def _check_tables() -> Iterator[DoctorFinding]:
    wanted = {model._meta.db_table for model in apps.get_models(include_auto_created=True) if model._meta.managed}
    missing = sorted(wanted - _tables())
    if missing:
        names = ", ".join(missing[:_NAMED]) + (", …" if len(missing) > _NAMED else "")
        text = _("The database lacks tables: %(names)s.") % {"names": names}
        advice = _(
            "Grant the database user all privileges. If that changes nothing, the database was loaded from an "
            "incomplete dump: restore a backup into an empty one."
        )
        yield DoctorFinding(Area.DATABASE, Level.FAILURE, text, advice)


def _tables() -> set[str]:
    return set(connection.introspection.table_names())


def _check_primary() -> Iterator[DoctorFinding]:
    """A proxy that splits reads from writes sends single queries elsewhere than transactions."""
    identity = "SELECT @@hostname, @@port, @@server_id"
    with transaction.atomic():
        inside = _rows(f"{identity} FOR UPDATE")
    if inside != _rows(identity):
        text = _("Reads and writes go to different database servers, whose clocks and rows may differ.")
        advice = _("Have the database proxy send all connections of Headline to the primary.")
        yield DoctorFinding(Area.DATABASE, Level.FAILURE, text, advice)
    elif is_read_only():
        text = _("The database server is read-only, such as a replica.")
        yield DoctorFinding(Area.DATABASE, Level.FAILURE, text, _("Point DATABASE_URL at the primary."))


def _check_server() -> Iterator[DoctorFinding]:
    names = ("wait_timeout", "max_allowed_packet", "innodb_flush_log_at_trx_commit")
    ((patience, packet, flush),) = _rows(f"SELECT {', '.join(f'@@GLOBAL.{name}' for name in names)}")
    if int(patience) < settings.CONNECTION_LIFETIME:
        yield _warn("wait_timeout", patience, _("Set it to at least a minute: idle connections are closed too early."))
    if int(packet) < _LEAST_PACKET:
        yield _warn("max_allowed_packet", packet, _("Set it to 16M: long articles could not be saved."))
    if int(flush) != 1:
        yield _warn(names[2], flush, _("Set it to 1: a power cut may lose the last second of changes."))


def _warn(name: str, value: object, advice: str) -> DoctorFinding:
    text = _("The database's %(name)s is %(value)s.") % {"name": name, "value": value}
    return DoctorFinding(Area.DATABASE, Level.WARNING, text, advice)


def _rows(query: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return list(cursor.fetchall())
