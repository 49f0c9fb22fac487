"""Trouble that repeats is logged once, then once a minute with its count, then its end with the duration."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from django.db import OperationalError

from scheduling.incidents import Incidents

logger = logging.getLogger("scheduling.test")

GONE = OperationalError(2002, "Can't connect to server")
READ_ONLY = OperationalError(1290, "The server is running with the --read-only option")


class Monotonic:
    """A clock that the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def monotonic() -> Monotonic:
    return Monotonic()


@pytest.fixture
def incidents(monotonic: Monotonic) -> Incidents:
    return Incidents(monotonic)


@pytest.fixture(autouse=True)
def _log(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO):
        yield


def test_an_outage_is_logged_once_then_each_minute_and_at_its_end(
    incidents: Incidents, monotonic: Monotonic, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(130):
        for source in ("sweep", "heartbeat"):
            incidents.failed(logger, source, f"a {source} failed", GONE)
        monotonic.now += 1
    incidents.succeeded("sweep")
    assert len(caplog.messages) == 3
    incidents.succeeded("heartbeat")
    assert caplog.messages == [
        f"a sweep failed: {GONE}",
        f"a sweep failed, 121 failures in 60 s: {GONE}",
        f"a sweep failed, 241 failures in 120 s: {GONE}",
        "over after 130.0 s, 260 failures: a sweep failed",
    ]
    incidents.succeeded("sweep")
    assert len(caplog.messages) == 4


def test_an_incident_lasts_until_what_failed_succeeds(incidents: Incidents, caplog: pytest.LogCaptureFixture) -> None:
    """A sweep only reads: that it succeeds says nothing about a database that is read-only."""
    incidents.failed(logger, "heartbeat", "a heartbeat failed", READ_ONLY)
    incidents.succeeded("sweep")
    incidents.failed(logger, "heartbeat", "a heartbeat failed", READ_ONLY)
    assert caplog.messages == [f"a heartbeat failed: {READ_ONLY}"]


def test_a_source_that_is_not_heard_of_again_does_not_keep_an_incident_open(
    incidents: Incidents, monotonic: Monotonic, caplog: pytest.LogCaptureFixture
) -> None:
    """Such as the thread of a task."""
    incidents.failed(logger, "sweep", "a sweep failed", GONE)
    incidents.failed(logger, "mail", "a mail failed", GONE)
    monotonic.now += 1
    incidents.succeeded("sweep")
    monotonic.now += 60
    incidents.succeeded("sweep")
    assert caplog.messages[-1] == "over after 1.0 s, 2 failures: a sweep failed"


def test_a_failure_long_after_the_last_one_is_a_new_incident(
    incidents: Incidents, monotonic: Monotonic, caplog: pytest.LogCaptureFixture
) -> None:
    incidents.failed(logger, "probe", "a probe failed", GONE)
    monotonic.now += 3600
    incidents.failed(logger, "probe", "a probe failed", GONE)
    assert caplog.messages == [f"a probe failed: {GONE}"] * 2


def test_an_unknown_error_has_its_traceback_once_and_an_incident_of_its_own(
    incidents: Incidents, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), incidents.watch(logger, "sweep", "a sweep failed"):
            _ = 1 / 0
    incidents.failed(logger, "sweep", "a sweep failed", GONE)
    assert caplog.messages == ["a sweep failed", f"a sweep failed: {GONE}"]
    assert [bool(record.exc_info) for record in caplog.records] == [True, False]
    with incidents.watch(logger, "sweep", "a sweep failed"):
        pass
    assert [message.split(":")[0] for message in caplog.messages[2:]] == [
        "over after 0.0 s, 2 failures",
        "over after 0.0 s, 1 failures",
    ]


def test_successes_between_failures_do_not_end_an_incident_that_asks_for_quiet(
    incidents: Incidents, monotonic: Monotonic, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(10):
        incidents.failed(logger, "requests", "a request failed", GONE)
        monotonic.now += 2
        incidents.succeeded("requests", quiet=5)
    monotonic.now += 4
    incidents.succeeded("requests", quiet=5)
    assert caplog.messages[1:] == ["over after 20.0 s, 10 failures: a request failed"]
