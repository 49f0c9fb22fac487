"""Housekeeping with the engine's `refresh`, which runs once a minute on one node."""

from __future__ import annotations

from headline.api.models import IdempotentRequest
from scheduling.database import read_database_clock
from scheduling.registry import reconciler

_ROWS_PER_PASS = 1000


@reconciler
def prune_idempotent_requests() -> int:
    """Delete expired requests, a bounded number per pass. Returns 0, because this repairs nothing."""
    old = IdempotentRequest.objects.expired(read_database_clock()).values_list("pk", flat=True)[:_ROWS_PER_PASS]
    IdempotentRequest.objects.filter(pk__in=list(old)).delete()
    return 0
