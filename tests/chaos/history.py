"""The history of a proof: every request, observation and fault, as JSON lines in a file.

It is written by the harness, outside the system under test. Times are seconds since 1970, by a clock that no fault
changes, and that MariaDB has, too.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self


@dataclass(frozen=True, kw_only=True)
class Record:
    """A line of the history; `ended` is infinite if nothing says when it was over."""

    type: ClassVar[str]
    began: float
    ended: float


@dataclass(frozen=True, kw_only=True)
class Request(Record):
    """One attempt of an operation: a request that was sent, and its response; `status` is None without one."""

    type = "request"
    number: int  #: of the operation; attempts that are repeated with the same idempotency key share it
    operation: str
    stories: Sequence[int]
    release: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int | None
    answer: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Sight(Record):
    """A page as a reader saw it: the texts of each story on it. `story` is whose own page it is."""

    type = "sight"
    address: str
    status: int
    story: int | None = None
    texts: Sequence[tuple[int, int]] = ()


@dataclass(frozen=True, kw_only=True)
class FaultRecord(Record):
    """A fault while it lasted; `holds` are the articles that it delays by itself."""

    type = "fault"
    kind: str
    holds: Sequence[int] | None = None


@dataclass(frozen=True, kw_only=True)
class Added(Record):
    """A task of the tests that was stored directly, and whether it must have its effect or end failed."""

    type = "task"
    task_id: int
    task_type: str
    due: float
    must_fail: bool = False


@dataclass(frozen=True, kw_only=True)
class Mailed(Record):
    """A mail that the mail server got; the `message` is its Message-ID."""

    type = "mail"
    message: str


@dataclass(frozen=True, kw_only=True)
class Purged(Record):
    """A purge that the CDN got, of responses with any of these surrogate keys; one without says that there is a CDN."""

    type = "purge"
    keys: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Received(Record):
    """A webhook that the receiver got, and its answer; one without `message` says that there is a receiver."""

    type = "webhook"
    message: str = ""
    kind: str = ""
    object: int = 0
    state: str = ""  #: of an article
    text: int | None = None  #: of an article that is live
    status: int = 200


@dataclass(frozen=True, kw_only=True)
class Followed(Record):
    """A page of the change feed that the follower got: articles with their texts, and those that have left."""

    type = "feed"
    live: Sequence[tuple[int, int | None]] = ()
    gone: Sequence[tuple[int, str]] = ()


_KINDS = (Request, Sight, FaultRecord, Added, Mailed, Purged, Received, Followed)
_TYPES: Mapping[str, type[Record]] = {kind.type: kind for kind in _KINDS}


class History:
    """Appends records to a file; may be shared by threads."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8", buffering=1)
        self._lock = threading.Lock()

    def add(self, record: Record) -> None:
        """Write one record at once."""
        line = json.dumps({"type": record.type, **asdict(record)})
        with self._lock:
            self._file.write(f"{line}\n")

    def close(self) -> None:
        """The file is complete."""
        self._file.close()

    @staticmethod
    def read(path: Path) -> list[Record]:
        """The records of a file."""
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        return [_TYPES[line.pop("type")](**line) for line in lines]


@dataclass(frozen=True)
class Operation:
    """What an editor wanted, with all attempts."""

    number: int
    name: str
    stories: Sequence[int]
    release: str
    values: Mapping[str, Any]
    began: float
    ended: float  #: infinite if it is uncertain: a request without a response may take effect at any later time
    is_done: bool
    is_refused: bool
    answer: Mapping[str, Any]

    @classmethod
    def of(cls, attempts: Sequence[Request]) -> Self:
        """An operation is done if one attempt was acknowledged, and refused if none could have had an effect."""
        first = attempts[0]
        done = next((one for one in attempts if one.status and one.status < 300), None)
        refused = not done and all(one.status and 400 <= one.status < 500 for one in attempts)
        ended = done.ended if done else attempts[-1].ended if refused else float("inf")
        return cls(
            first.number,
            first.operation,
            first.stories,
            first.release,
            first.values,
            min(one.began for one in attempts),
            ended,
            done is not None,
            refused,
            done.answer if done else {},
        )


def operations(records: Iterable[Record]) -> list[Operation]:
    """The operations in the order in which they began."""
    attempts: defaultdict[int, list[Request]] = defaultdict(list)
    for record in records:
        if isinstance(record, Request):
            attempts[record.number].append(record)
    found = [Operation.of(sorted(several, key=lambda one: one.began)) for several in attempts.values()]
    return sorted(found, key=lambda one: one.began)


_ahead = 0.0


def now() -> float:
    """The time of a record."""
    return time.time() + _ahead


def ahead() -> float:
    """Seconds by which it is ahead of this machine's clock."""
    return _ahead


@contextmanager
def at_another_time(begin: float) -> Iterator[None]:
    """It is `begin` now, and time goes on from then while the block lasts."""
    global _ahead
    _ahead = begin - time.time()
    try:
        yield
    finally:
        _ahead = 0.0
