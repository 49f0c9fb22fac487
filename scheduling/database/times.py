"""The range of times that every database stores."""

from __future__ import annotations

from datetime import UTC, datetime

EARLIEST, LATEST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
"""Every database stores times from the first of these on; every time zone can display times before the second."""
