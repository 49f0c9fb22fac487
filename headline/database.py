"""Connection options of MariaDB and MySQL: strict mode, and timeouts for serving processes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_SERVING = frozenset({"poll", "refresh", "crontab", "runserver", "doctor"})
"""The management commands with timeouts: serving processes, `doctor`, and `crontab`, which runs cron jobs."""

_STRICT = "sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'"
_FRESH = "/*!80000 , information_schema_stats_expiry=0 */"
"""MySQL caches the next ids of tables for a day, and a backup with such would let ids be used again."""
_EXACT = "/*M!100400 , optimizer_switch='rowid_filter=off' */"
"""MariaDB 10.11 loses rows of an EXISTS that it reads through a rowid filter, as those of an author's live articles."""


def mysql_options(timeout: int) -> dict[str, Any]:
    """Options of every connection; in a serving process, the database has `timeout` seconds to respond.

    So a connection that a firewall or a failover has dropped is closed and reopened. Lock waits are half as long, so
    that they end before this timeout. MariaDB rolls back transactions that are idle for 1.5 times as long, to release
    the row locks of dropped connections (MySQL does not have this variable).

    A web server's statements are ended by the database shortly before: one that a visitor has made expensive would go
    on there after its client has given up. Not those of workers, whose commits may wait for a backup.
    """
    options = {"charset": "utf8mb4", "isolation_level": "read committed", "connect_timeout": 5}
    if not is_serving(sys.argv):
        return options | {"init_command": f"SET {_STRICT} {_EXACT} {_FRESH}"}
    locks = f"innodb_lock_wait_timeout={timeout // 2}"
    idle = f"/*M!100300 , idle_transaction_timeout={timeout + timeout // 2} */"
    limits = {"read_timeout": timeout, "write_timeout": timeout}
    statements = _statement_limit(timeout - 1) if is_web(sys.argv) else ""
    return options | limits | {"init_command": f"SET {_STRICT}, {locks} {idle} {statements} {_EXACT} {_FRESH}"}


def _statement_limit(seconds: int) -> str:
    """For any statement on MariaDB, and on MySQL, which knows no other, for queries."""
    return f"/*M!100101 , max_statement_time={seconds} */ /*!50708 , max_execution_time={seconds * 1000} */"


def is_serving(arguments: list[str]) -> bool:
    """Whether a process with this command line serves: a web server or a worker, unlike a migration or an import."""
    command = _command(arguments)
    return command is None or command in _SERVING


def is_web(arguments: list[str]) -> bool:
    """Whether it is a web server."""
    return _command(arguments) in (None, "runserver")


def _command(arguments: list[str]) -> str | None:
    """The management command, which may be empty; None for another program."""
    program, *words = arguments or [""]
    path = Path(program)
    is_module = (path.parent.name, path.name) == ("django", "__main__.py")  # and not, for example, `python -m gunicorn`
    is_command_line = is_module or path.name in ("manage.py", "django-admin")
    return " ".join(words[:1]) if is_command_line else None
