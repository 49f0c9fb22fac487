"""Whose keys in Redis these are: those of one installation, on the database server where it runs.

Two installations on one Redis, such as production and a copy of it for a restore drill, must never take each other's
hints or show each other's pages. A copy has the same row in the database; it runs somewhere else.
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

_known: dict[tuple[str, str], str] = {}


def key_prefix() -> str:
    """What every key of this installation begins with; asks the database once in each process."""
    return conf.KEY_PREFIX if conf.KEY_PREFIX != AUTO else f"sched:{identity()}"


def cache_key(key: str, prefix: str, version: int) -> str:
    """A KEY_FUNCTION for Django's caches in Redis, which keeps those of other installations apart."""
    return f"{key_prefix()}:{version}:{key}"


def identity() -> str:
    """A short name for this installation in this place; the same in all of its processes."""
    here = str(connection.settings_dict["NAME"]), str(connection.settings_dict["HOST"])
    if here not in _known:
        found = sha256(f"{_installation()} {place()} {_server()}".encode()).hexdigest()[:12]
        if connection.in_atomic_block:  # what a transaction has seen may never have been
            return found
        _known[here] = found
    return _known[here]


def place() -> str:
    """Where the database is, for people."""
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
