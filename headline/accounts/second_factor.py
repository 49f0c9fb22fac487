"""Second factors: which roles need one, and what a session without one may do."""

from __future__ import annotations

from collections.abc import Callable

from allauth.account.internal.flows.login import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.middleware import get_user
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

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


def may_act_without_session(user: User) -> bool:
    """Whether tokens, calendar feeds and preview links of the user are valid: a factor that a role needs is set up.

    With `SECOND_FACTOR_AT_PROVIDER`, an account that is linked to the identity provider has its factor there.
    """
    if not is_required(user) or has_second_factor(user):
        return True
    return bool(settings.SECOND_FACTOR_AT_PROVIDER and SocialAccount.objects.filter(user=user.pk).exists())


def remove_second_factors(user: User) -> None:
    """Remove all second factors and the recovery codes of a user who has lost them."""
    Authenticator.objects.filter(user=user).delete()


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
