"""Log lines about trouble that repeats: its start, once a minute its count, and its end with the duration."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from scheduling.database import Trouble, trouble_of

REPORT_INTERVAL = 60.0  #: seconds between two lines about the same incident
_FORGET = 15.0  # seconds without a failure after which a source no longer counts; refused work is retried more often
_EXPIRES = 300.0  # seconds without a failure after which the next one begins a new incident


@dataclass(slots=True)
class Incident:
    """Failures of one kind that no success has ended yet."""

    logger: logging.Logger
    text: str
    began: float
    reported: float
    last: float
    count: int = 1
    recovered: float | None = None  #: the first success after the last failure
    sources: dict[Hashable, float] = field(default_factory=dict)  #: what fails, and when it did so last

    @property
    def seconds(self) -> float:
        """From its first failure to the first success after its last one, or to that if there was none."""
        return (self.recovered or self.last) - self.began


class Incidents:
    """The incidents of a process.

    Failures by the same trouble of the database or the machine are one incident, whatever failed; it ends when each
    source of failures has succeeded again. Other failures are one by source and kind of error.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._open: dict[Hashable, Incident] = {}
        self._lock = threading.Lock()

    def failed(
        self,
        logger: logging.Logger,
        source: Hashable,
        text: str,
        error: BaseException | None = None,
        *,
        key: Hashable = None,
        level: int = logging.ERROR,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Count a failure of `source`, and log it if it is the first of its incident or the first for a minute.

        Known trouble takes one line, other errors have a traceback. `key` sets failures apart that would be one
        incident.
        """
        key, now = key or _key(source, error), self._monotonic()
        with self._lock:
            incident = self._open.get(key)
            if incident is None or now - incident.last > _EXPIRES:
                incident = self._open[key] = Incident(logger, text, began=now, reported=now, last=now)
            else:
                incident.count, incident.last, incident.recovered = incident.count + 1, now, None
            incident.sources[source] = now
            is_due = incident.count == 1 or now - incident.reported >= REPORT_INTERVAL
            incident.reported = now if is_due else incident.reported
        if is_due:
            logger.log(level, "%s", _line(incident, text, error), exc_info=_unknown(error), extra=extra)

    def succeeded(self, source: Hashable, *, quiet: float = 0.0, but: frozenset[Hashable] = frozenset()) -> None:
        """`source` works again; what that ends is logged, except in the first `quiet` seconds after its last failure.

        It says nothing about incidents whose keys are in `but`.
        """
        if not self._open:  # the usual case, at no cost
            return
        now = self._monotonic()
        with self._lock:
            for key, incident in [(key, incident) for key, incident in self._open.items() if key not in but]:
                self._note_success(incident, source, now, quiet)
                if incident.recovered and all(now - failed_at > _FORGET for failed_at in incident.sources.values()):
                    del self._open[key]
                    _log_end(incident)

    @contextmanager
    def watch(self, logger: logging.Logger, source: Hashable, text: str) -> Iterator[None]:
        """An error in the block is a failure of `source`, and is raised again; else `source` works."""
        try:
            yield
        except Exception as error:
            self.failed(logger, source, text, error)
            raise
        self.succeeded(source)

    def clear(self) -> None:
        """Forget all incidents."""
        self._open.clear()

    @staticmethod
    def _note_success(incident: Incident, source: Hashable, now: float, quiet: float) -> None:
        if (failed_at := incident.sources.get(source)) is None:
            return
        incident.recovered = incident.recovered or now
        if now - failed_at >= quiet:
            del incident.sources[source]


def _key(source: Hashable, error: BaseException | None) -> Hashable:
    trouble = trouble_of(error) if error else None
    return trouble if trouble not in (None, Trouble.REFUSED) else (source, type(error))


def _line(incident: Incident, text: str, error: BaseException | None) -> str:
    counted = f", {incident.count} failures in {incident.seconds:.0f} s" if incident.count > 1 else ""
    return f"{text}{counted}" + (f": {error}" if error and not _unknown(error) else "")


def _unknown(error: BaseException | None) -> BaseException | None:
    return error if error and not trouble_of(error) else None


def _log_end(incident: Incident) -> None:
    text = "over after %.1f s, %d failures: %s"
    incident.logger.warning(text, incident.seconds, incident.count, incident.text)


incidents = Incidents()
"""Those of this process."""
