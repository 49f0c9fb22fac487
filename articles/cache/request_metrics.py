"""django-prometheus's request metrics for responses that are sent without running its middleware.

Counting one request writes seventeen numbers, which takes longer than sending a cached response. So requests are
counted together, within `_INTERVAL`.
"""

from __future__ import annotations

import atexit
import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Any

from django_prometheus.middleware import Metrics

_INTERVAL = 1.0  # seconds until a request is in the metrics


class RequestMetrics:
    """The metrics of requests without a body that get the same response from the same view; and other `counters`."""

    def __init__(
        self, *, view: str, method: str, scheme: str, status: int, charset: str, size: int, counters: Sequence[Any] = ()
    ) -> None:
        every: Any = Metrics.get_instance()
        self._counters = [
            every.requests_total,
            every.responses_total,
            every.requests_by_method.labels(method),
            every.requests_by_transport.labels(scheme),
            every.requests_by_view_transport_method.labels(view, scheme, method),
            every.responses_by_status.labels(str(status)),
            every.responses_by_status_view_method.labels(str(status), view, method),
            every.responses_by_charset.labels(charset),
            *counters,
        ]
        self._sizes = [(every.requests_body_bytes, 0), (every.responses_body_bytes, size)]
        self._latencies = [
            every.requests_latency_before,
            every.requests_latency_by_view_method.labels(view, method),
        ]

    def count(self, seconds: float) -> None:
        """Count a request that took this long, at the latest after `_INTERVAL`."""
        _uncounted.add(self, seconds)

    def write(self, durations: Sequence[float]) -> None:
        """Count a request for each of these durations now."""
        for counter in self._counters:
            counter.inc(len(durations))
        for histogram, size in self._sizes:
            _observe(histogram, [size] * len(durations))
        for histogram in self._latencies:
            _observe(histogram, durations)


def _observe(histogram: Any, values: Sequence[float]) -> None:
    """What `histogram.observe` does for each value, with one write for each bucket: the library has no call for it."""
    histogram._sum.inc(sum(values))
    found = Counter(bisect_left(histogram._upper_bounds, value) for value in values)
    for bucket, number in found.items():
        histogram._buckets[bucket].inc(number)


class _Uncounted:
    """The requests of this process that are not in the metrics yet."""

    def __init__(self) -> None:
        self._durations: dict[RequestMetrics, list[float]] = {}
        self._lock = threading.Lock()

    def add(self, metrics: RequestMetrics, seconds: float) -> None:
        """Count a request later; the first one starts a timer for all that follow until then."""
        with self._lock:
            is_counted_later = bool(self._durations) or self._start_timer()
            if is_counted_later:
                self._durations.setdefault(metrics, []).append(seconds)
        if not is_counted_later:
            metrics.write([seconds])

    def _start_timer(self) -> bool:
        timer = threading.Timer(_INTERVAL, self.write)
        timer.daemon = True
        try:
            timer.start()
        except RuntimeError:  # the system allows no more threads
            return False
        return True

    def write(self) -> None:
        """Count them now."""
        with self._lock:
            durations, self._durations = self._durations, {}
        for metrics, values in durations.items():
            metrics.write(values)

    def forget(self) -> None:
        """Leave them to the parent process, with its timer."""
        self._durations, self._lock = {}, threading.Lock()


_uncounted = _Uncounted()
write_request_metrics = _uncounted.write
atexit.register(write_request_metrics)
os.register_at_fork(after_in_child=_uncounted.forget)
