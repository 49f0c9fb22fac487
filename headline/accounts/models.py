"""Counters of rate limits, such as log-in attempts."""

from __future__ import annotations

from django.db import models


class TryCount(models.Model):
    """One counter of `headline.accounts.rate_limits`; it may be deleted when `free_at` has passed."""

    key = models.CharField(max_length=64, primary_key=True)
    free_at = models.BigIntegerField(db_index=True)  #: microseconds since 1970, by the database's clock
    reported_at = models.BigIntegerField(default=0)  #: when the audit log last recorded that it was used up

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.key
