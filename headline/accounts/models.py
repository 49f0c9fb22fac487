"""How often something was tried lately, such as a password for an account."""

from __future__ import annotations

from django.db import models


class TryCount(models.Model):
    """One counter of `headline.accounts.limits`; a counter whose `free_at` is past says nothing and may go."""

    key = models.CharField(max_length=64, primary_key=True)
    free_at = models.BigIntegerField(db_index=True)  #: microseconds since 1970, by the database's clock
    reported_at = models.BigIntegerField(default=0)  #: when the audit log last heard that it was used up

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return self.key
