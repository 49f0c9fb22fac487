"""The adapter of django-allauth for second factors: how secrets are stored, and what accounts and factors are called.

Only requests need it: a worker does without the library that encrypts.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from typing import Any

from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from headline.accounts.second_factor import FACTORS, is_required
from headline.accounts.sessions import device_of
from headline.env import host_of


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """Stores secrets encrypted with the project's key, so that a copy of the database is not enough to sign in."""

    def encrypt(self, text: str) -> str:
        """The secret as it is stored."""
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """The stored secret. Raises `ValidationError` if it was stored with another key."""
        try:
            return _cipher().decrypt(encrypted_text).decode()
        except InvalidToken as error:
            message = _("The newsroom has a new secret key. Ask an administrator to remove your second factor.")
            raise ValidationError(message, code="key") from error

    def get_totp_label(self, user: Any) -> str:
        """The name of the account in authenticator apps."""
        return str(user.get_username())

    def get_totp_issuer(self) -> str:
        """The name of the site in authenticator apps."""
        return f"Headline ({host_of(settings.SITE_URL)})"

    def generate_authenticator_name(self, *args: Any) -> str:
        """The first name of a passkey: the browser that creates it."""
        return device_of(context.request.headers.get("User-Agent", ""))

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        """The last factor stays while a role needs one."""
        others = Authenticator.objects.filter(user=authenticator.user, type__in=FACTORS).exclude(pk=authenticator.pk)
        return others.exists() or not is_required(authenticator.user)


def _cipher() -> MultiFernet:
    """Encrypts with the secret key; decrypts with its predecessors, too."""
    keys: Iterable[str] = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    digests = (hashlib.sha256(f"headline second factors\n{key}".encode()).digest() for key in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])
