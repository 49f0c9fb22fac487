"""How the supervisor tells a worker that hangs from one that was stopped together with it."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pytest

from scheduling.conf import conf
from scheduling.workers import supervisor
from scheduling.workers.supervisor import Heartbeat, _kill_silent

CHILD = 4711


class Watch:
    """Checks of a child, in a time that the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.sent: list[tuple[int, int]] = []

    def begin(self) -> None:
        self.heartbeat = Heartbeat()

    def look(self, seconds: float, *, beats: bool = False) -> None:
        """Check every twentieth of a second."""
        for _ in range(round(seconds * 20)):
            self.now += 0.05
            if beats:
                self.heartbeat.beat(self.now)
            _kill_silent({CHILD: self.heartbeat})

    def kill(self, pid: int, number: int) -> None:
        self.sent.append((pid, number))


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    own = Watch()
    monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: own.now))
    monkeypatch.setattr("scheduling.workers.supervisor.os", SimpleNamespace(kill=own.kill))
    own.begin()
    return own


def test_a_worker_that_hangs_is_ended_once(watch: Watch) -> None:
    watch.look(60, beats=True)
    watch.look(conf.SILENCE - 1)
    assert watch.sent == []
    watch.look(3)
    assert watch.sent == [(CHILD, signal.SIGKILL)]


@pytest.mark.parametrize("pause", [40.0, 86_400.0])
def test_a_worker_that_was_stopped_together_with_its_supervisor_is_not_ended(watch: Watch, pause: float) -> None:
    watch.look(10, beats=True)
    watch.now += pause
    watch.look(10)  # it takes a while until it goes on
    watch.look(10, beats=True)
    assert watch.sent == []


def test_a_worker_that_hangs_is_ended_although_its_supervisor_was_stopped_before(watch: Watch) -> None:
    watch.look(10)
    watch.now += 40
    watch.look(conf.SILENCE - 5)
    assert len(watch.sent) == 1
