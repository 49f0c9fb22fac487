"""Classification of errors: a task's own fault, or trouble of the database or the machine.

A task fails in one of three ways:

- Its own fault: its handler raised because of its data. The attempt counts.
- Trouble of the database or the machine: any other error of the database. The attempt does not count, because the task
  would run elsewhere, and will run later.
- A crash: the worker died while it ran the task. That raises no exception, so the attempt of a suspect is counted
  before it begins (see `services.running`).
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator

from django.db import DataError, IntegrityError, InterfaceError
from django.db.models import TextChoices
from django.db.transaction import TransactionManagementError
from django.db.utils import DatabaseError
from django.utils.translation import gettext_lazy as _


class Trouble(TextChoices):
    """Kinds of trouble of the database or the machine; the label is a sentence for users."""

    DISK_FULL = "disk_full", _("The database refuses to write: disk full.")
    READ_ONLY = "read_only", _("The database refuses to write: it is read-only.")
    SCHEMA = "schema", _("The database's tables do not match this version: a migration is missing or unfinished.")
    LOCKS = "locks", _("The database keeps transactions waiting for locks.")
    STOPPED = "stopped", _("The database stops statements before they end.")
    UNREACHABLE = "unreachable", _("The database cannot be reached.")
    MACHINE = "machine", _("A worker's machine is out of disk space, memory, open files or threads.")
    QUEUE = "queue", _("The queue server cannot be reached.")
    REFUSED = "refused", _("The database refuses what the workers write.")

    @property
    def ends_connection(self) -> bool:
        """Whether to reconnect: a new connection may reach a server that takes writes."""
        return self in (Trouble.UNREACHABLE, Trouble.READ_ONLY)


#: Error numbers of MySQL and MariaDB. All others, except those of a row's data, are `REFUSED`. 1047, and 1180 at a
#: commit, come from a Galera node that has lost the majority.
_MYSQL = {
    **dict.fromkeys((3, 1021, 1026, 1114), Trouble.DISK_FULL),
    **dict.fromkeys((1036, 1290, 1792, 1836), Trouble.READ_ONLY),
    **dict.fromkeys((1054, 1136, 1146, 1364), Trouble.SCHEMA),
    **dict.fromkeys((1020, 1205, 1213), Trouble.LOCKS),
    **dict.fromkeys((1317, 1969, 3024), Trouble.STOPPED),
    **dict.fromkeys((1040, 1044, 1045, 1047, 1049, 1053, 1129, 1130, 1152, 1158, 1159, 1160), Trouble.UNREACHABLE),
    **dict.fromkeys((1161, 1180, 1203, 1226, 1927, 4031, *range(2000, 2100)), Trouble.UNREACHABLE),
}
#: Those of statements that fail wherever they run: too large, or with texts that do not fit or compare.
_MYSQL_STATEMENT = frozenset({1139, 1153, 1253, 1267, 1270, 1271, 1300, 1366})
#: Primary result codes of SQLite.
_SQLITE = {
    sqlite3.SQLITE_BUSY: Trouble.LOCKS,
    sqlite3.SQLITE_CANTOPEN: Trouble.UNREACHABLE,
    sqlite3.SQLITE_FULL: Trouble.DISK_FULL,
    sqlite3.SQLITE_INTERRUPT: Trouble.STOPPED,
    sqlite3.SQLITE_LOCKED: Trouble.LOCKS,
    sqlite3.SQLITE_READONLY: Trouble.READ_ONLY,
}
#: Of a unique index: MySQL's and MariaDB's numbers, and extended result codes of SQLite.
_DUPLICATES = frozenset({1062, 1586})
_SQLITE_DUPLICATES = frozenset({sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE})
#: Message texts, where the code is not specific enough.
_TEXTS = (
    ("error 28", Trouble.DISK_FULL),  # 1030, "Got error 28 from storage engine"
    ("locked", Trouble.LOCKS),
    ("no such table", Trouble.SCHEMA),
    ("no such column", Trouble.SCHEMA),
    ("has no column", Trouble.SCHEMA),
)
_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}


def trouble_of(error: BaseException) -> Trouble | None:
    """The trouble behind an exception; None: it is the task's own fault.

    In a chain of errors the first one decides: a handler may raise its own error after a lost connection, and Django
    refuses every statement after an invalid row.
    """
    # From the first error on: what was raised later may only be its consequence.
    for cause in reversed(list(causes(error))):
        if isinstance(kind := getattr(cause, "trouble", None), Trouble):
            return kind
        if isinstance(cause, DatabaseError | InterfaceError) and not isinstance(cause, TransactionManagementError):
            return _database_trouble(cause)
        if isinstance(cause, MemoryError) or (isinstance(cause, OSError) and cause.errno in _MACHINE):
            return Trouble.MACHINE
        if isinstance(cause, RuntimeError) and "start new thread" in str(cause):
            return Trouble.MACHINE
    return None


def is_duplicate(error: IntegrityError) -> bool:
    """Whether a row was refused because another one has its unique values, rather than for a value of its own."""
    number = error.args[0] if error.args else None
    return number in _DUPLICATES or getattr(error.__cause__, "sqlite_errorcode", None) in _SQLITE_DUPLICATES


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what caused it, and so on; each once, as a chain may be a circle: django-redis makes such ones."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        yield error
        seen.add(id(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def _database_trouble(error: Exception) -> Trouble | None:
    """The trouble of a database error; None for an invalid statement or data, or a constraint: the task's own fault."""
    number = error.args[0] if error.args and isinstance(error.args[0], int) else None
    result = getattr(error.__cause__, "sqlite_errorcode", None)
    # The low byte is the primary code; the others only tell kinds of it apart.
    if known := _MYSQL.get(number or 0) or _SQLITE.get((result or 0) & 0xFF):
        return known
    # A trigger that refuses is ours, and protects the audit log: no fault of one row's data.
    if isinstance(error, DataError | IntegrityError) or number in _MYSQL_STATEMENT:
        return Trouble.REFUSED if result == sqlite3.SQLITE_CONSTRAINT_TRIGGER else None
    if isinstance(error, InterfaceError):
        return Trouble.UNREACHABLE
    return next((trouble for text, trouble in _TEXTS if text in str(error)), Trouble.REFUSED)
