"""Second factors: which roles need one, how secrets are stored, and what a session without one may do."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from typing import Any

from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.contrib.auth.middleware import get_user
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.functional import SimpleLazyObject
from django.utils.translation import gettext as _

from headline.accounts.sessions import device_of
from headline.env import host_of

FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)
"""The kinds of second factors; recovery codes replace one that is lost."""

_ALL, _ADMINISTRATOR = "all", "Administrator"


def has_second_factor(user: User) -> bool:
    """Whether the user has set up a second factor, which each sign-in then asks for."""
    return bool(Authenticator.objects.filter(user=user.pk, type__in=FACTORS).exists())


def is_required(user: User) -> bool:
    """Whether a role of the user needs a second factor."""
    roles = settings.SECOND_FACTOR_ROLES
    if not roles:
        return False
    is_named = _ALL in roles or (user.is_superuser and _ADMINISTRATOR in roles)
    return is_named or user.groups.filter(name__in=roles).exists()


def needs_second_factor(user: User) -> bool:
    """Whether a password alone is not enough for this user."""
    return has_second_factor(user) or is_required(user)


def is_missing(request: HttpRequest, user: User) -> bool:
    """Whether the session lacks a second factor that is required."""
    if not is_required(user) or has_second_factor(user):
        return False
    methods = {record["method"] for record in get_authentication_records(request, user)}
    return not (settings.SECOND_FACTOR_AT_PROVIDER and "socialaccount" in methods)


def remove_second_factors(user: User) -> None:
    """Remove all second factors and the recovery codes of a user who has lost them."""
    Authenticator.objects.filter(user=user).delete()


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


class SecondFactorMiddleware:
    """A session that lacks a required second factor opens only the screens on which it is set up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if settings.SECOND_FACTOR_ROLES and not _is_for_all(request.path):
            if request.path.startswith(reverse("admin:index")):
                user = request.user
                if user.is_authenticated and is_missing(request, user):
                    return HttpResponseRedirect(reverse("mfa_index"))
            else:
                # Lazy, because a reader's page needs no session.
                request.user = SimpleLazyObject(lambda: _as_reader(request))  # type: ignore[assignment]
        return self.get_response(request)


def _is_for_all(path: str) -> bool:
    allowed = ("mfa_index", "account_login", "admin:logout", "admin:jsi18n", "admin:articles_preferences_language")
    return path.startswith(tuple(reverse(name) for name in allowed))


def _as_reader(request: HttpRequest) -> User | AnonymousUser:
    """The user; an anonymous one if a second factor is missing."""
    user = get_user(request)
    return AnonymousUser() if isinstance(user, User) and is_missing(request, user) else user
