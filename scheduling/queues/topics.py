"""Encoding of topics and ids in Redis."""

from __future__ import annotations

import logging
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from scheduling.queues.base import Topic

logger = logging.getLogger(__name__)

_ID_LENGTH = 11  # 64 bits in base64 without padding; up to 12 bytes fit into Redis' smallest allocation but one
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_IN_ORDER = b"-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_SORTED, _STANDARD = bytes.maketrans(_BASE64, _IN_ORDER), bytes.maketrans(_IN_ORDER + b"+/", _BASE64 + b"!!")
_ESCAPES = str.maketrans({"%": "%25", "{": "%7B", "}": "%7D"})


def encode(topic: Topic) -> str:
    """`type:priority`, with braces escaped: a brace inside the hash tag would end it too early."""
    task_type, priority = topic
    # The type is any text, and a colon in it does no harm: the priority is behind the last one.
    return f"{task_type.translate(_ESCAPES)}:{priority}"


def decode(text: bytes | str) -> Topic | None:
    """The topic encoded as `text`, or None if it is none."""
    try:
        task_type, _, priority = (text.decode() if isinstance(text, bytes) else text).rpartition(":")
        return (unquote(task_type), int(priority)) if task_type else None
    except ValueError:
        return None


def encode_id(task_id: int) -> bytes:
    """A task id as 11 characters, which sort as the ids do. In decimal, a hint would take 16 bytes more."""
    return b64encode(task_id.to_bytes(8, "big"))[:_ID_LENGTH].translate(_SORTED)


def decode_id(member: bytes) -> int | None:
    """The task id encoded as `member`, or None if it is none."""
    if len(member) != _ID_LENGTH:
        return None
    try:
        task_id = int.from_bytes(b64decode(member.translate(_STANDARD) + b"=", validate=True), "big")
    except ValueError:
        return None
    return task_id if task_id < 2**63 else None


def decode_ids(topic: Topic, members: Iterable[bytes]) -> Iterator[int]:
    """The task ids among `members` of a ready list; anything else is skipped with a warning."""
    for member in members:
        task_id = decode_id(member)
        if task_id is None:
            logger.warning("dropped %r from the ready list of %s: no task id", member[:50], encode(topic))
        else:
            yield task_id
