"""How many inputs a test draws: the same few in each run, or DRAWN_INPUTS=5000 others."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

INPUTS = int(os.environ.get("DRAWN_INPUTS", "0"))


def drawing(few: int) -> settings:
    """The decorator of a function that Hypothesis calls with drawn values."""
    return settings(
        max_examples=INPUTS or few, derandomize=not INPUTS, deadline=None, suppress_health_check=list(HealthCheck)
    )
