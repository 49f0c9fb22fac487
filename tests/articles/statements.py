"""The statements of a page, without those that begin and end the snapshot in which it is built."""

from __future__ import annotations

from django.test.utils import CaptureQueriesContext


def reading(queries: CaptureQueriesContext) -> list[str]:
    """What reads, or writes; MariaDB gets what begins a snapshot with the first of them."""
    return [query["sql"] for query in queries if query["sql"] not in ("BEGIN DEFERRED", "ROLLBACK")]
