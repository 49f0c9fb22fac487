"""A worker that dies in the middle of what it does, if its settings say so."""

from __future__ import annotations

import os
import signal
from typing import Any

from django.conf import settings
from django.db.models.signals import post_delete

from articles.models import Update


def die(**kwargs: Any) -> None:
    """As a power cut would have it, with half of the work written."""
    os.kill(os.getpid(), signal.SIGKILL)


if getattr(settings, "PROBE_DIES_OF_UPDATES", False):
    post_delete.connect(die, sender=Update)
