"""The admin's log-in and password change, with audit entries and 429 responses."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.contrib.auth.views import PasswordChangeView
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from articles.audit import LOGGED_IN, record_beside
from headline.accounts.address import address_of
from headline.accounts.forms import LimitedPasswordChangeForm
from headline.accounts.login_throttle import TooManyAttempts, remember_device


def log_in(request: HttpRequest) -> HttpResponseBase:
    """The admin's log-in; a success is recorded and sets the device cookie."""
    response: Any = admin.site.login(request)
    if request.method == "POST" and response.status_code == HTTPStatus.FOUND:
        record_beside(LOGGED_IN, title="", by=request.user, address=address_of(request))
        remember_device(response, request.user)
    return _with_status(response)


def change_password(request: HttpRequest) -> HttpResponseBase:
    """The admin's password change."""
    view = PasswordChangeView.as_view(
        form_class=LimitedPasswordChangeForm,
        success_url=reverse("admin:password_change_done"),
        extra_context=admin.site.each_context(request),
    )
    return _with_status(view(request))


def _with_status(response: Any) -> HttpResponseBase:
    """Set status 429 if the form was refused because of too many attempts."""
    form = (getattr(response, "context_data", None) or {}).get("form")
    errors = form.errors.as_data().values() if form is not None else ()
    refusal = next((error for field in errors for error in field if isinstance(error, TooManyAttempts)), None)
    if refusal is not None:
        response.status_code = HTTPStatus.TOO_MANY_REQUESTS
        response.headers["Retry-After"] = str(refusal.wait)
    return response  # type: ignore[no-any-return]
