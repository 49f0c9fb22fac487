"""Metrics of a worker, which has no HTTP port: its heartbeat carries them to `/metrics` of the web servers."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from math import inf, isinf
from typing import Any

from prometheus_client import REGISTRY, Counter
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

PREFIX = "headline_"

_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, inf)  # seconds

failures = Counter("headline_task_failures", "Failed attempts of tasks, and how they ended", ["task_type", "outcome"])
refusals = Counter("headline_task_refusals", "Transactions that the database refused", ["task_type", "kind"])
requeued = Counter("headline_tasks_requeued", "Overdue tasks without a hint in Redis, found by the sweep")


class RefreshTime(Collector):
    """When this process last completed a refresh; before the first one, no series: 0 would be 56 years ago."""

    def __init__(self) -> None:
        self._at: float | None = None

    def set(self, at: float | None) -> None:
        """It was completed at this Unix time."""
        self._at = at

    def collect(self) -> Iterable[Metric]:
        """One gauge."""
        text = "When this process last completed a refresh, as Unix time"
        family = GaugeMetricFamily("headline_refreshed_timestamp_seconds", text)
        if self._at is not None:
            family.add_metric([], self._at)
        return [family]


refreshed = RefreshTime()
REGISTRY.register(refreshed)


class LatenessHistogram(Collector):
    """How late tasks ran, by type; adds those of a batch in one call, unlike the client library's histogram."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: defaultdict[str, list[int]] = defaultdict(lambda: [0] * len(_BOUNDS))
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def begin(self, task_types: Iterable[str]) -> None:
        """Report 0 for these types: of a series that begins with another value, Prometheus sees no increase."""
        with self._lock:
            for task_type in task_types:
                self._counts[task_type]  # makes them

    def add(self, late: Mapping[tuple[str, timedelta], int]) -> None:
        """Count tasks, given by type and lateness."""
        with self._lock:
            for (task_type, lateness), count in late.items():
                seconds = lateness.total_seconds()
                self._counts[task_type][bisect_left(_BOUNDS, seconds)] += count
                self._seconds[task_type] += seconds * count

    def collect(self) -> Iterable[Metric]:
        """One histogram."""
        family = HistogramMetricFamily(
            "headline_task_lateness_seconds", "How late tasks ran", labels=["task_type"], unit="seconds"
        )
        with self._lock:
            for task_type, counts in self._counts.items():
                buckets = [
                    ("+Inf" if isinf(bound) else str(bound), float(sum(counts[: number + 1])))
                    for number, bound in enumerate(_BOUNDS)
                ]
                family.add_metric([task_type], buckets, self._seconds[task_type])
        return [family]


lateness = LatenessHistogram()
REGISTRY.register(lateness)


def snapshot() -> list[dict[str, Any]]:
    """The metrics of this process that begin with `PREFIX` and have a value, for JSON."""
    families = [
        {
            "name": family.name,
            "type": family.type,
            "help": family.documentation,
            "samples": [
                [sample.name, sample.labels, sample.value]
                for sample in family.samples
                if not sample.name.endswith("_created")
            ],
        }
        for family in REGISTRY.collect()
        if family.name.startswith(PREFIX)
    ]
    return [family for family in families if family["samples"]]


def of_workers(snapshots: Mapping[str, list[dict[str, Any]]]) -> Iterator[Metric]:
    """The metrics in the snapshots of workers (by name), as `headline_worker_…` with the label `worker`."""
    families: dict[str, Metric] = {}
    for worker, rows in snapshots.items():
        for row in rows:
            metric = families.setdefault(row["name"], Metric(_of_worker(row["name"]), row["help"], row["type"]))
            for name, labels, value in row["samples"]:
                metric.add_sample(_of_worker(name), {"worker": worker, **labels}, value)
    yield from families.values()


def _of_worker(name: str) -> str:
    return f"{PREFIX}worker_{name.removeprefix(PREFIX)}"
