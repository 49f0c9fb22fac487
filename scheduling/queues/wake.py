"""Wake-ups on a Redis publish/subscribe channel, with detection of dead connections."""

from __future__ import annotations

import time
from typing import Any

from scheduling.queues.base import Topic
from scheduling.queues.topics import decode, encode

PING_INTERVAL = 5.0  # seconds; a half-open connection shows no error, only silence


def message(topic: Topic, due_ms: int) -> str:
    """A wake-up message: a task of `topic` is due at `due_ms`."""
    return f"{due_ms} {encode(topic)}"


class WakeUps:
    """One subscription. When a method raises, the owner replaces it by a new one."""

    def __init__(self, pubsub: Any, channel: str) -> None:
        self.channel = channel
        self._pubsub = pubsub
        self._pubsub.subscribe(channel)
        self._pinged_at = time.monotonic()
        self._silence = 0.0  # seconds of listening since something was received

    def read(self, timeout: float) -> tuple[Topic, int] | None:
        """The next wake-up as `(topic, due_ms)`, or None after `timeout` seconds. Raises if the connection is dead."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) >= 0:
            self._check_connection()
            received = self._listen(left)
            if received and (wake := _parse(received)):
                return wake
        return None

    def close(self) -> None:
        """Close the connection."""
        self._pubsub.close()

    def _check_connection(self) -> None:
        now = time.monotonic()
        if self._silence > 2 * PING_INTERVAL:
            raise ConnectionError("the wake-up channel has been silent for too long")
        if now - self._pinged_at > PING_INTERVAL:
            self._pinged_at = now
            self._pubsub.ping()

    def _listen(self, seconds: float) -> dict[str, Any] | None:
        """What is received within this time, if anything.

        Time in which it is not read is no silence: a round was held by the database, or this process was stopped, even
        while it listened.
        """
        began = time.monotonic()
        received: dict[str, Any] | None = self._pubsub.get_message(timeout=seconds)
        self._silence = 0.0 if received else self._silence + min(seconds, time.monotonic() - began)
        return received


def _parse(received: dict[str, Any]) -> tuple[Topic, int] | None:
    if received["type"] != "message":
        return None
    due, _, text = received["data"].partition(b" ")
    topic = decode(text)
    return (topic, int(due)) if topic and due.isdigit() else None
