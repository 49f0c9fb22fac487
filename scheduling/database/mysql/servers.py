"""Several servers of one database, such as the nodes of a Galera cluster: connect to the first that takes writes."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from MySQLdb import OperationalError

Server = tuple[str, int]

CONNECT_TIMEOUT = 2  # seconds: a server that does not answer must leave time for the others
_AVOIDED_FOR = 10.0  # seconds after a failure in which a server is tried last
_READ_ONLY = 1290

_failed_at: dict[Server, float] = {}


def connect_to_any(servers: Sequence[Server], connect: Callable[[str, int], Any]) -> Any:
    """A connection to the first server that takes writes. Raises the last error if there is none."""
    last = OperationalError(_READ_ONLY, "no server of DATABASE_URL takes writes")
    for server in sorted(servers, key=_has_failed):
        connection = None
        try:
            connection = connect(*server)
            if takes_writes(connection):
                _failed_at.pop(server, None)
                return connection
        except OperationalError as error:
            last = error
        if connection is not None:
            connection.close()
        _failed_at[server] = time.monotonic()
    raise last


def takes_writes(connection: Any) -> bool:
    """Whether the server is not read-only. Raises if it takes no statement, as a Galera node without a majority."""
    connection.query("SELECT @@read_only")
    ((is_read_only,),) = connection.store_result().fetch_row()
    return is_read_only in (0, "0", b"0", "OFF", b"OFF")  # from MariaDB 12 it is a word


def _has_failed(server: Server) -> bool:
    return time.monotonic() - _failed_at.get(server, float("-inf")) < _AVOIDED_FOR
