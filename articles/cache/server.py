"""Connections to the cache's Redis, which may come back with older contents: restarted, restored, or failed over.

Its keys then agree with each other, but are those from before the last purges. So each new connection compares the
server's id, which changes with each start, with the one that is stored among the keys.
"""

from __future__ import annotations

import re
from typing import Any

from redis import ConnectionPool
from redis.exceptions import ResponseError

from articles.cache.backend import RUN, responses
from articles.cache.tags import SITE
from articles.cache.versions import EPOCH, GENERATION, keys_of


class Pool(ConnectionPool):
    """Connections that invalidate all responses if the server is not the one that they were stored in."""

    def __init__(self, **options: Any) -> None:
        super().__init__(redis_connect_func=_begin, **options)


def _begin(connection: Any) -> None:
    connection.on_connect()
    try:
        run = re.search(rb"run_id:(\w+)", _ask(connection, "INFO", "server"))
    except ResponseError:  # it may be forbidden
        return
    if run and _ask(connection, "GET", _name(RUN)) != run[1]:
        # First deleted, then noted as the same server: if this ends in between, the next connection does it again.
        _ask(connection, "DEL", _name(GENERATION), _name(EPOCH), *map(_name, keys_of([SITE])))
        _ask(connection, "SET", _name(RUN), run[1])


def _name(key: str) -> str:
    client: Any = responses.client
    return str(client.make_key(key))


def _ask(connection: Any, *command: Any) -> Any:
    connection.send_command(*command, check_health=False)
    return connection.read_response(disable_decoding=True)
