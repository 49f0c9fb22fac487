"""Kills the worker in the middle of a transaction, if its settings say so."""

from __future__ import annotations

import os
import signal
from typing import Any

from django.conf import settings

from articles.models.base.bulk_signals import rows_changed


def die(fields: frozenset[str], **kwargs: Any) -> None:
    """Die with half of the transaction written: many articles have published updates."""
    if "body" in fields:
        os.kill(os.getpid(), signal.SIGKILL)


if getattr(settings, "PROBE_DIES_OF_UPDATES", False):
    rows_changed.connect(die)
