"""Revokes the tokens of a user whose account changes, and keeps service accounts without a password."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models.signals import pre_save
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from headline.accounts.receivers import locked_out
from headline.api.models import ApiToken, is_service_account
from headline.api.tokens import revoke


@receiver(locked_out, sender=User)
def revoke_all(user: User, **kwargs: Any) -> None:
    """Revoke all tokens."""
    for token in ApiToken.objects.filter(user=user).select_related("user"):
        revoke(token)


@receiver(pre_save, sender=User)
def refuse_passwords_of_programs(
    instance: User, raw: bool, update_fields: Collection[str] | None, **kwargs: Any
) -> None:
    """Whatever sets it, such as a command or a shell. Raises `ValidationError`."""
    is_written = not raw and instance.pk and (update_fields is None or "password" in update_fields)
    if is_written and instance.has_usable_password() and is_service_account(instance):
        raise ValidationError(_("A service account has no password: it acts by tokens."), code="program")
