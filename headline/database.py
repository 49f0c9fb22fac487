"""Options of connections to MariaDB and MySQL: strict, and with an end to waiting for what serves people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_SERVING = frozenset({"poll", "refresh", "crontab", "runserver"})
"""The management commands that nobody watches; cron's jobs run inside `crontab`."""

_STRICT = "sql_mode='STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'"


def mysql_options(timeout: int) -> dict[str, Any]:
    """Options of every connection; where this process serves, the database has `timeout` seconds to answer.

    Then a connection that a firewall or a failover has swallowed is given up and made again. Locks are waited for half
    as long, so that waiting for them is not mistaken for that; and MariaDB rolls back what is idle for half as long
    again, or rows that the swallowed connection had locked would stay locked (MySQL does not know this variable).
    """
    options = {"charset": "utf8mb4", "isolation_level": "read committed", "connect_timeout": 5}
    if not is_serving(sys.argv):
        return options | {"init_command": f"SET {_STRICT}"}
    locks = f"innodb_lock_wait_timeout={timeout // 2}"
    idle = f"/*M!100300 , idle_transaction_timeout={timeout + timeout // 2} */"
    limits = {"read_timeout": timeout, "write_timeout": timeout}
    return options | limits | {"init_command": f"SET {_STRICT}, {locks} {idle}"}


def is_serving(arguments: list[str]) -> bool:
    """Whether a process with this command line serves: a web server or a worker, unlike a migration or an import."""
    program, *words = arguments or [""]
    is_command_line = Path(program).name in ("manage.py", "django-admin", "__main__.py")
    return not is_command_line or not _SERVING.isdisjoint(words[:1])
