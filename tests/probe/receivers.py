"""A worker that dies in the middle of what it does, if its settings say so."""

from __future__ import annotations

import os
import signal
from typing import Any

from django.conf import settings
from django.db.models.signals import post_save
from django.dispatch import receiver

from articles.models import Correction


@receiver(post_save, sender=Correction)
def die(**kwargs: Any) -> None:
    """With `PROBE_DIES_OF_CORRECTIONS`: as a power cut would have it, with half of the work written."""
    if getattr(settings, "PROBE_DIES_OF_CORRECTIONS", False):
        os.kill(os.getpid(), signal.SIGKILL)
