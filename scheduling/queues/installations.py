"""Detects other installations on the same Redis. Their keys are separate; operators are warned.

sched:installations            SET of prefixes
sched:installation:<prefix>    STRING, location of its database; expires minutes after its last refresh
"""

from __future__ import annotations

import logging
from typing import Any

from scheduling.identity import database_location, key_prefix

logger = logging.getLogger(__name__)

_LIFETIME = 300  # seconds
_ALL = "sched:installations"

_logged: set[str] = set()
_registered: set[str] = set()


def register(client: Any) -> None:
    """Register this installation, under its present prefix only, and log each other one once."""
    own = key_prefix()
    if former := _registered - {own}:  # the database is on another server now
        client.srem(_ALL, *former)
        client.delete(*map(_key, former))
    _registered.clear()
    _registered.add(own)
    client.sadd(_ALL, own)
    # It expires, because an installation that is gone cannot sign off.
    client.set(_key(own), database_location(), ex=_LIFETIME)
    for other in others(client):
        if other not in _logged:
            _logged.add(other)
            logger.warning("%s", describe(other))


def others(client: Any) -> list[str]:
    """Database locations of the other installations that refreshed lately."""
    members = {member.decode() for member in client.smembers(_ALL)} - {key_prefix()}
    found = {member: client.get(_key(member)) for member in sorted(members)}
    if gone := [member for member, name in found.items() if name is None]:
        client.srem(_ALL, *gone)
    return [name.decode() for name in found.values() if name is not None]


def describe(other: str) -> str:
    """The warning about another installation, with the remedy."""
    return (
        f"This Redis serves {other} as well as {database_location()}: their keys are separate. Give each its own "
        "Redis, or, if both are one database behind several servers, set REDIS_KEY_PREFIX to the same name for all."
    )


def _key(prefix: str) -> str:
    return f"sched:installation:{prefix}"
