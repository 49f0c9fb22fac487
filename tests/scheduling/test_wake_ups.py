"""Wake-ups: a connection is dead when it answers no ping while it is listened to, not at other times."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from scheduling.queues import wake
from scheduling.queues.wake import PING_INTERVAL, WakeUps, message

TOPIC = ("test.note", 0)
LOOK = 1.0  # seconds that a worker listens at once


class Channel:
    """A subscription and its time: waiting takes as long as there is nothing to read."""

    def __init__(self) -> None:
        self.now = 0.0
        self.answers = True
        self.stops_for = 0.0  #: seconds that the process is stopped while it listens
        self.buffered: deque[dict[str, Any]] = deque()

    def monotonic(self) -> float:
        return self.now

    def subscribe(self, channel: str) -> None:
        pass

    def ping(self) -> None:
        if self.answers:
            self.buffered.append({"type": "pong", "data": b""})

    def publish(self, due_ms: int) -> None:
        self.buffered.append({"type": "message", "data": message(TOPIC, due_ms).encode()})

    def get_message(self, *, timeout: float) -> dict[str, Any] | None:
        if self.buffered and not self.stops_for:
            return self.buffered.popleft()
        self.now += timeout + self.stops_for + 0.001
        self.stops_for = 0.0
        return None


@pytest.fixture
def channel(monkeypatch: pytest.MonkeyPatch) -> Channel:
    opened = Channel()
    monkeypatch.setattr(wake, "time", opened)
    return opened


def listen(wake_ups: WakeUps, channel: Channel, seconds: float) -> None:
    """Look again and again, as an idle worker does."""
    until = channel.now + seconds
    while channel.now < until:
        assert wake_ups.read(LOOK) is None


@pytest.mark.parametrize("pause", [PING_INTERVAL, 3 * PING_INTERVAL, 3600.0])
@pytest.mark.parametrize("before", [0.0, 0.9 * PING_INTERVAL, 1.5 * PING_INTERVAL])
def test_a_connection_that_was_not_listened_to_is_not_dead(channel: Channel, before: float, pause: float) -> None:
    """As while the database holds a round, a batch takes long, or the machine is suspended."""
    wake_ups = WakeUps(channel, "wake")
    listen(wake_ups, channel, before)
    channel.now += pause
    listen(wake_ups, channel, 3 * PING_INTERVAL)
    channel.publish(7)
    assert wake_ups.read(LOOK) == (TOPIC, 7)


def test_what_arrived_before_the_worker_listened_is_read(channel: Channel) -> None:
    wake_ups = WakeUps(channel, "wake")
    channel.publish(7)
    channel.now += 4 * PING_INTERVAL
    assert wake_ups.read(LOOK) == (TOPIC, 7)


def test_a_process_that_is_stopped_while_it_listens_does_not_count_that_as_silence(channel: Channel) -> None:
    """SIGSTOP for 40 s."""
    wake_ups = WakeUps(channel, "wake")
    listen(wake_ups, channel, 0.9 * PING_INTERVAL)
    channel.stops_for = 40.0
    assert wake_ups.read(LOOK) is None
    listen(wake_ups, channel, 3 * PING_INTERVAL)


def test_a_connection_that_answers_no_ping_is_dead(channel: Channel) -> None:
    wake_ups = WakeUps(channel, "wake")
    channel.answers = False
    with pytest.raises(ConnectionError, match="silent"):
        listen(wake_ups, channel, 4 * PING_INTERVAL)
    assert channel.now <= 2 * PING_INTERVAL + 2 * LOOK


def test_a_connection_that_died_before_the_worker_listened_is_found_dead(channel: Channel) -> None:
    wake_ups = WakeUps(channel, "wake")
    channel.answers = False
    channel.now += 3600.0
    began = channel.now
    with pytest.raises(ConnectionError, match="silent"):
        listen(wake_ups, channel, 4 * PING_INTERVAL)
    assert channel.now - began <= 2 * PING_INTERVAL + 2 * LOOK
