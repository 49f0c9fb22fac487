"""Completes every sign-in: with password, single sign-on, passkey or one-time link."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core.exceptions import ImmediateHttpResponse
from django.http import HttpRequest, HttpResponse
from django.utils.http import url_has_allowed_host_and_scheme

from articles.audit import (
    Action,
    record_beside,
)
from headline.accounts import rate_limits
from headline.accounts.address import UNKNOWN_ADDRESS, address_of, full_address_of
from headline.accounts.login_throttle import remember_device
from headline.accounts.refusal import recorded_refusal
from headline.api.models import is_service_account


class SignInAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Records sign-ins, and redirects only within this host."""

    def login(self, request: HttpRequest, user: Any) -> None:
        """Begin the session. Raises `ImmediateHttpResponse` for programs and users deactivated since the first step."""
        if not user.is_active:
            raise ImmediateHttpResponse(self.respond_user_inactive(request, user))
        if is_service_account(user):
            raise ImmediateHttpResponse(recorded_refusal(request, "program", title=user.get_username()))
        super().login(request, user)

    def post_login(self, request: HttpRequest, user: Any, **options: Any) -> HttpResponse:
        """After the session has begun: record it; this browser is known to the user from now on."""
        response: HttpResponse = super().post_login(request, user, **options)
        methods = [str(record.get("type") or record["method"]) for record in get_authentication_records(request, user)]
        record_beside(Action.LOGGED_IN, title="", by=user, address=address_of(request), methods=methods)
        remember_device(response, user)
        rate_limits.prune()
        return response

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        """Refuse a deactivated user."""
        return recorded_refusal(request, "deactivated", title=user.get_username())

    def get_client_ip(self, request: HttpRequest) -> str:
        """The address that the list of sessions shows."""
        try:
            return str(ip_address(full_address_of(request)))
        except ValueError:
            return UNKNOWN_ADDRESS

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """No registration: users are invited, or come by single sign-on with a role."""
        return False

    def is_safe_url(self, url: str | None) -> bool:
        """Whether a redirect to `url` stays on this host."""
        return url_has_allowed_host_and_scheme(
            url, allowed_hosts={self.request.get_host()}, require_https=self.request.is_secure()
        )

    def add_message(self, *args: Any, **options: Any) -> None:
        """The screens say themselves what happened."""

    def send_notification_mail(self, *args: Any, **options: Any) -> None:
        """The audit log records it instead."""
