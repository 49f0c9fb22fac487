"""Housekeeping that rides on the engine's `refresh`, which runs once a minute on one node."""

from __future__ import annotations

from django.utils import timezone

from headline.api.models import IdempotentRequest
from scheduling.registry import reconciler

_ROWS_PER_PASS = 1000


@reconciler
def forget_old_requests() -> int:
    """Delete remembered requests past their time, a bounded number a pass. Nothing was broken, so 0 is mended."""
    old = IdempotentRequest.objects.expired(timezone.now()).values_list("pk", flat=True)[:_ROWS_PER_PASS]
    IdempotentRequest.objects.filter(pk__in=list(old)).delete()
    return 0
