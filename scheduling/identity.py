"""The identity of an installation, which prefixes its Redis keys: its database row and its server or Galera cluster.

Two installations on one Redis, such as production and a copy of it for a restore drill, must never pop each other's
hints or serve each other's pages. A copy has the same row in the database, but another server.

So has a replica that was promoted. To agree on its keys, processes that were running before ask again on each new
connection, and every `IDENTITY_INTERVAL`, since a process may serve cached pages for long without the database.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from hashlib import sha256

from django.db import DatabaseError, Error, connection

from scheduling.conf import conf
from scheduling.database import Trouble, trouble_of
from scheduling.models import Installation

logger = logging.getLogger(__name__)

AUTO = "auto"
"""The value of `SCHEDULING_KEY_PREFIX` that asks for the identity."""

_VARIABLES = ("hostname", "port", "server_uid", "server_uuid")
_OF_CLUSTERS = ("wsrep_on", "wsrep_cluster_name")

_PATIENCE = 0.25  # seconds that a request waits for an answer; then it does with the last one


def key_prefix() -> str:
    """The prefix of every key of this installation."""
    return conf.KEY_PREFIX if conf.KEY_PREFIX != AUTO else f"sched:{identity()}"


def cache_key(key: str, prefix: str, version: int) -> str:
    """A KEY_FUNCTION for Django's Redis caches, which separates installations."""
    return f"{key_prefix()}:{version}:{key}"


def identity() -> str:
    """A short hash that identifies this installation on this server; the same in all its processes.

    Raises the database's error only if it was never asked with success.
    """
    return _identity.read()


def confirm() -> None:
    """Ask the database again, if the identity is in use."""
    if conf.KEY_PREFIX == AUTO:
        _identity.confirm()


def database_location() -> str:
    """Name and address of the database, for log messages."""
    return _location(_server())


class _Identity:
    """The identity as this process knows it."""

    def __init__(self) -> None:
        self.known: str | None = None
        self._database: tuple[str, str] | None = None
        self._server: Mapping[str, str] = {}
        self._asked_at = float("-inf")
        self._turn = threading.Lock()
        self._thread = threading.local()  # the connection over which it asked

    def read(self) -> str:
        """The identity that was confirmed last; asks first if that may have changed."""
        if self.known is None or self._database != _database():
            return self._ask()
        if connection.connection is not None and connection.connection is not getattr(self._thread, "asked_over", None):
            self.confirm()
        elif time.monotonic() - self._asked_at > conf.IDENTITY_INTERVAL and connection.vendor == "mysql":
            self._confirm_apart()
        return self.known

    def confirm(self) -> None:
        """Ask over this thread's connection; without an answer it stays what it was."""
        if connection.needs_rollback:
            return
        try:
            self._ask()
        except Error as error:
            logger.debug("the identity could not be confirmed: %s", error)

    def _confirm_apart(self) -> None:
        """Ask over a new connection: an old one may lead to an old server, or nowhere. One thread at a time does."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            self._asked_at = time.monotonic()  # not again at once if there is no answer
            thread = threading.Thread(target=self._confirm_and_close, name="identity", daemon=True)
            thread.start()
            thread.join(_PATIENCE)
        except RuntimeError as error:  # the machine allows no more threads
            logger.debug("the identity could not be confirmed: %s", error)
        finally:
            self._turn.release()

    def _confirm_and_close(self) -> None:
        try:
            self.confirm()
        finally:
            connection.close()

    def _ask(self) -> str:
        server = _server()
        if self.known is None or (self._database, self._server) != (_database(), server):
            found = sha256(f"{_installation()} {_location(server)} {_server_id(server)}".encode()).hexdigest()[:12]
            if connection.in_atomic_block:  # the row may yet be rolled back
                return found
            self._replace(found, server)
        self._asked_at = time.monotonic()
        self._thread.asked_over = connection.connection
        return str(self.known)

    def _replace(self, found: str, server: Mapping[str, str]) -> None:
        if self.known is not None and self._database == _database():
            text = "the database is another server now: %s instead of %s; keys in Redis begin with %s from now on"
            logger.warning(text, _location(server), _location(self._server), found)
        self.known, self._database, self._server = found, _database(), server


_identity = _Identity()


def _database() -> tuple[str, str]:
    return str(connection.settings_dict["NAME"]), str(connection.settings_dict["HOST"])


def _installation() -> str:
    try:
        return str(Installation.objects.get_or_create(pk=1)[0].identity)
    except DatabaseError as error:
        if trouble_of(error) is not Trouble.SCHEMA and not connection.needs_rollback:
            raise  # or this process would use other keys than all others from now on
        return ""  # before the first migration


def _server() -> dict[str, str]:
    """What tells the server from others: its file, its variables, or the Galera cluster, the same on all its nodes."""
    if connection.vendor != "mysql":
        try:
            file = os.stat(connection.settings_dict["NAME"])
        except OSError:
            return {}
        return {"file": f"{file.st_dev} {file.st_ino}"}
    with connection.cursor() as cursor:
        cursor.execute("SHOW VARIABLES WHERE Variable_name IN %s", [(*_VARIABLES, *_OF_CLUSTERS)])
        found = dict(cursor.fetchall())
        if found.get("wsrep_on") != "ON":
            return {name: found.get(name, "") for name in _VARIABLES}
        cursor.execute("SHOW STATUS LIKE 'wsrep_cluster_state_uuid'")
        return {"cluster": found["wsrep_cluster_name"], **dict(cursor.fetchall())}


def _server_id(server: Mapping[str, str]) -> str:
    return server["wsrep_cluster_state_uuid"] if "cluster" in server else " ".join(server.values())


def _location(server: Mapping[str, str]) -> str:
    name = connection.settings_dict["NAME"]
    if connection.vendor != "mysql":
        return f"the database {name}"
    if "cluster" in server:
        return f"the database {name} on the cluster {server['cluster']}"
    return f"the database {name} on {server['hostname']}:{server['port']}"
