"""django-prometheus's request metrics for responses that are sent without running its middleware."""

from __future__ import annotations

from typing import Any

from django_prometheus.middleware import Metrics


class RequestMetrics:
    """The metrics of requests without a body that get the same response from the same view."""

    def __init__(self, *, view: str, method: str, scheme: str, status: int, charset: str, size: int) -> None:
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
        ]
        self._sizes = [(every.requests_body_bytes, 0), (every.responses_body_bytes, size)]
        self._latencies = [
            every.requests_latency_before,
            every.requests_latency_by_view_method.labels(view, method),
        ]

    def count(self, seconds: float) -> None:
        """Count a request that took this long."""
        for counter in self._counters:
            counter.inc()
        for histogram, size in self._sizes:
            histogram.observe(size)
        for histogram in self._latencies:
            histogram.observe(seconds)
