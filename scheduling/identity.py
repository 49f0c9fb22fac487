"""The identity of an installation, which prefixes its Redis keys: its database row and its server or Galera cluster.

Two installations on one Redis, such as production and a copy of it for a restore drill, must never pop each other's
hints or serve each other's pages. A copy has the same row in the database, but another server.
"""

from __future__ import annotations

import os
from hashlib import sha256

from django.db import DatabaseError, connection

from scheduling.conf import conf
from scheduling.failures import Trouble, trouble_of
from scheduling.models import Installation

AUTO = "auto"
"""The value of `SCHEDULING_KEY_PREFIX` that asks for the identity."""

_VARIABLES = ("hostname", "port", "server_uid", "server_uuid")

_identities: dict[tuple[str, str], str] = {}


def key_prefix() -> str:
    """The prefix of every key of this installation; queries the database once per process."""
    return conf.KEY_PREFIX if conf.KEY_PREFIX != AUTO else f"sched:{identity()}"


def cache_key(key: str, prefix: str, version: int) -> str:
    """A KEY_FUNCTION for Django's Redis caches, which separates installations."""
    return f"{key_prefix()}:{version}:{key}"


def identity() -> str:
    """A short hash that identifies this installation on this server; the same in all its processes."""
    database = str(connection.settings_dict["NAME"]), str(connection.settings_dict["HOST"])
    if database not in _identities:
        found = sha256(f"{_installation()} {database_location()} {_server()}".encode()).hexdigest()[:12]
        if connection.in_atomic_block:  # the row may yet be rolled back
            return found
        _identities[database] = found
    return _identities[database]


def database_location() -> str:
    """Name and address of the database, for log messages."""
    name = connection.settings_dict["NAME"]
    if connection.vendor != "mysql":
        return f"the database {name}"
    if cluster := _galera_cluster():
        return f"the database {name} on the cluster {cluster['wsrep_cluster_name']}"
    variables = _variables()
    return f"the database {name} on {variables['hostname']}:{variables['port']}"


def _installation() -> str:
    try:
        return str(Installation.objects.get_or_create(pk=1)[0].identity)
    except DatabaseError as error:
        if trouble_of(error) is not Trouble.SCHEMA and not connection.needs_rollback:
            raise  # or this process would use other keys than all others from now on
        return ""  # before the first migration


def _server() -> str:
    if connection.vendor == "mysql":
        if cluster := _galera_cluster():
            return cluster["wsrep_cluster_state_uuid"]
        variables = _variables()
        return " ".join(variables.get(name, "") for name in _VARIABLES)
    try:
        file = os.stat(connection.settings_dict["NAME"])
    except OSError:
        return ""
    return f"{file.st_dev} {file.st_ino}"


def _galera_cluster() -> dict[str, str]:
    """Name and UUID of the Galera cluster, which are the same on all its nodes; empty for a single server."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW VARIABLES WHERE Variable_name IN ('wsrep_on', 'wsrep_cluster_name')")
        found = dict(cursor.fetchall())
        if found.get("wsrep_on") != "ON":
            return {}
        cursor.execute("SHOW STATUS LIKE 'wsrep_cluster_state_uuid'")
        return {**found, **dict(cursor.fetchall())}


def _variables() -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW VARIABLES WHERE Variable_name IN %s", [_VARIABLES])
        return dict(cursor.fetchall())
