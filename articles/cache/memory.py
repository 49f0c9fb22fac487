"""Copies of complete responses in the memory of this process; the least recently used are dropped first."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from articles.cache.request_metrics import RequestMetrics
from articles.cache.versions import present_generation, validate

Headers = list[tuple[str, str]]
Key = tuple[str, ...]

_OVERHEAD = 4096  # bytes of a copy besides its body: key, headers, tags


@dataclass
class Copy:
    """A response as it was sent, and what it is validated against."""

    status: str
    headers: Headers
    body: bytes
    metrics: RequestMetrics
    expires_at: float  #: by `time.monotonic()`
    tags: Sequence[str]
    versions: Mapping[str, str]
    generation: str
    _ends_at: float = field(init=False)  #: the same in Unix time: the other clock stands still while a machine sleeps

    def __post_init__(self) -> None:
        self._ends_at = time.time() + self.expires_at - time.monotonic()

    def is_valid(self) -> bool:
        """Whether it has neither expired nor been invalidated; asks the cache."""
        present = present_generation()
        if present is None:
            return False
        if present != self.generation:
            validated = validate(self.tags, self.versions, self.generation, present)
            if validated is None:
                return False
            self.generation = validated
        # Both clocks: one stands still while a machine sleeps, the other may be set.
        return time.monotonic() < self.expires_at and time.time() < self._ends_at


class Copies:
    """At most `most` bytes of copies, by key."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._copies: OrderedDict[Key, Copy] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Key) -> Copy | None:
        """The copy, valid or not."""
        with self._lock:
            copy = self._copies.get(key)
            if copy is not None:
                self._copies.move_to_end(key)
            return copy

    def add(self, key: Key, copy: Copy) -> None:
        """Replace the copy of this key; drop others until there is room."""
        with self._lock:
            self._drop(self._copies.pop(key, None))
            self._copies[key] = copy
            self._size += _size_of(copy)
            while self._size > self._most:
                self._drop(self._copies.popitem(last=False)[1])

    def _drop(self, copy: Copy | None) -> None:
        self._size -= _size_of(copy) if copy else 0


def _size_of(copy: Copy) -> int:
    return len(copy.body) + _OVERHEAD
