"""The identity of an installation, which prefixes its Redis keys: its database row and its database server.

Two installations on one Redis, such as production and a copy of it for a restore drill, must never pop each other's
hints or serve each other's pages. A copy has the same row in the database, but another server.
"""

from __future__ import annotations

import os
from hashlib import sha256

from django.db import DatabaseError, connection

from scheduling.conf import conf
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
    variables = _variables()
    return f"the database {name} on {variables['hostname']}:{variables['port']}"


def _installation() -> str:
    try:
        return str(Installation.objects.get_or_create(pk=1)[0].identity)
    except DatabaseError:  # before the first migration
        return ""


def _server() -> str:
    if connection.vendor == "mysql":
        variables = _variables()
        return " ".join(variables.get(name, "") for name in _VARIABLES)
    try:
        file = os.stat(connection.settings_dict["NAME"])
    except OSError:
        return ""
    return f"{file.st_dev} {file.st_ino}"


def _variables() -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute("SHOW VARIABLES WHERE Variable_name IN %s", [_VARIABLES])
        return dict(cursor.fetchall())
