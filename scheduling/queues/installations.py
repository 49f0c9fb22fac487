"""Other installations on the same Redis. Their keys are apart from ours; that they are there, somebody should know.

sched:installations            SET of prefixes
sched:installation:<prefix>    STRING, where its database is; lives for some minutes after its last refresh
"""

from __future__ import annotations

import logging
from typing import Any

from scheduling.identity import key_prefix, place

logger = logging.getLogger(__name__)

_LIFETIME = 300  # seconds
_ALL = "sched:installations"

_named: set[str] = set()


def sign(client: Any) -> None:
    """Say that we are here, and name in the log who is here as well, once."""
    client.sadd(_ALL, key_prefix())
    client.set(_key(key_prefix()), place(), ex=_LIFETIME)
    for other in others(client):
        if other not in _named:
            _named.add(other)
            logger.warning("%s", sentence(other))


def others(client: Any) -> list[str]:
    """Where the databases of the other installations are that refreshed lately."""
    members = {member.decode() for member in client.smembers(_ALL)} - {key_prefix()}
    found = {member: client.get(_key(member)) for member in sorted(members)}
    if gone := [member for member, name in found.items() if name is None]:
        client.srem(_ALL, *gone)
    return [name.decode() for name in found.values() if name is not None]


def sentence(other: str) -> str:
    """What it means that another installation is here, and what to do."""
    return (
        f"This Redis serves {other} as well as {place()}: their keys are kept apart. Give each a Redis of its own, or, "
        "if both are one database behind several servers, set REDIS_KEY_PREFIX to the same name for all processes."
    )


def _key(prefix: str) -> str:
    return f"sched:installation:{prefix}"
