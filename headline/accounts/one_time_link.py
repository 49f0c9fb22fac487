"""One-time sign-in links for administrators who are locked out, created on the server's command line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import record_authentication
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from articles.audit import (
    Action,
    record_beside,
)
from headline.accounts.refusal import refusal
from headline.api.models import is_service_account
from scheduling.database import lock_by_ids, retried

LIFETIME = timedelta(minutes=15)


class _Tokens(PasswordResetTokenGenerator):
    """Django's tokens, which end at the next sign-in; valid for `LIFETIME`."""

    key_salt = "headline.accounts.one_time_link"

    def make_token(self, user: User) -> str:
        """A token that is stamped in the past, because its age is compared with the setting for passwords."""
        # Django compares the age of every token with one setting.
        age = settings.PASSWORD_RESET_TIMEOUT - int(LIFETIME.total_seconds())
        return str(self._make_token_with_timestamp(user, self._num_seconds(self._now()) - age, self.secret))

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        """With the microseconds of the last sign-in."""
        # Django leaves the microseconds out: two sign-ins in one second would leave the link valid.
        return f"{super()._make_hash_value(user, timestamp)} {user.last_login}"


_tokens = _Tokens()


def may_have_sign_in_link(user: User) -> bool:
    """Whether the user is an active administrator, and no program; others ask one."""
    return user.is_active and user.is_staff and user.is_superuser and not is_service_account(user)


def sign_in_link(user: User) -> str:
    """A link with which the user signs in once, without password and second factor."""
    record_beside(Action.SIGN_IN_LINK, title=user.get_username())
    parts = [urlsafe_base64_encode(force_bytes(user.pk)), _tokens.make_token(user)]
    return settings.SITE_URL + reverse("one_time_link", args=parts)


@never_cache
@require_http_methods(["GET", "POST"])
def use(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    """Ask before the sign-in, because programs that preview links would use them up."""
    # In a transaction with the account locked: of two requests with one link, the second finds it used.
    return retried(_use)(request, uidb64, token)


def _use(request: HttpRequest, uidb64: str, token: str) -> HttpResponse:
    user = _locked(uidb64)
    if user is None or not may_have_sign_in_link(user) or not _tokens.check_token(user, token):
        return refusal(request, "link")
    if request.method == "GET":
        context: dict[str, Any] = {**admin.site.each_context(request), "title": _("Sign in"), "account": user}
        return render(request, "headline/one_time_link.html", context)
    adapter = get_adapter(request)
    record_authentication(request, user, "one_time_link", reauthenticated=True)
    adapter.login(request, user)
    unused = {"email_verification": "none", "signal_kwargs": None, "email": None, "signup": False}
    response: HttpResponse = adapter.post_login(request, user, redirect_url=reverse("mfa_index"), **unused)
    return response


def _locked(uidb64: str) -> User | None:
    try:
        pk = int(urlsafe_base64_decode(uidb64))
    except ValueError:
        return None
    return lock_by_ids(User, [pk]).first()


def urls() -> list[URLPattern]:
    """The URL patterns."""
    return [path("admin/login/link/<uidb64>/<token>/", use, name="one_time_link")]
