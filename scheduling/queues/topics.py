"""How a topic is written in Redis."""

from __future__ import annotations

from urllib.parse import unquote

from scheduling.queues.base import Topic

_ESCAPES = str.maketrans({"%": "%25", "{": "%7B", "}": "%7D"})


def encode(topic: Topic) -> str:
    """`type:priority`, with braces escaped: a brace inside the hash tag would end it too early."""
    task_type, priority = topic
    return f"{task_type.translate(_ESCAPES)}:{priority}"


def decode(text: bytes | str) -> Topic | None:
    """The topic written as `text`, or None when it is no topic of ours."""
    try:
        task_type, _, priority = (text.decode() if isinstance(text, bytes) else text).rpartition(":")
        return (unquote(task_type), int(priority)) if task_type else None
    except ValueError:
        return None
