"""Encoding of topics and ids in Redis."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from scheduling.queues.base import Topic

logger = logging.getLogger(__name__)

_ESCAPES = str.maketrans({"%": "%25", "{": "%7B", "}": "%7D"})


def encode(topic: Topic) -> str:
    """`type:priority`, with braces escaped: a brace inside the hash tag would end it too early."""
    task_type, priority = topic
    return f"{task_type.translate(_ESCAPES)}:{priority}"


def decode(text: bytes | str) -> Topic | None:
    """The topic encoded as `text`, or None if it is none."""
    try:
        task_type, _, priority = (text.decode() if isinstance(text, bytes) else text).rpartition(":")
        return (unquote(task_type), int(priority)) if task_type else None
    except ValueError:
        return None


def decode_ids(topic: Topic, members: Iterable[bytes]) -> Iterator[int]:
    """The task ids among `members` of a ready list; anything else is skipped with a warning."""
    for member in members:
        if member.isdigit() and len(member) < 20:
            yield int(member)
        else:
            logger.warning("dropped %r from the ready list of %s: no task id", member[:50], encode(topic))
