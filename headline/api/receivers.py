"""Revokes the tokens of a user whose account changes."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.dispatch import receiver

from headline.accounts.receivers import locked_out
from headline.api.models import ApiToken
from headline.api.tokens import revoke


@receiver(locked_out, sender=User)
def revoke_all(user: User, **kwargs: Any) -> None:
    """Revoke all tokens."""
    for token in ApiToken.objects.filter(user=user).select_related("user"):
        revoke(token)
