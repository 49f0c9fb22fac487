"""A worker that dies in the middle of what it does, if its settings say so."""

from __future__ import annotations

import os
import signal
from typing import Any

from django.conf import settings

from articles.models.base.bulk_signals import rows_changed


def die(fields: frozenset[str], **kwargs: Any) -> None:
    """As a power cut would have it, with half of the work written: many articles got newer texts."""
    if "body" in fields:
        os.kill(os.getpid(), signal.SIGKILL)


if getattr(settings, "PROBE_DIES_OF_UPDATES", False):
    rows_changed.connect(die)
