"""The log-in page and the password change, with 429 responses, and the log-out."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.cache import never_cache
from unfold.forms import AuthenticationForm

from headline.accounts.login_throttle import TooManyAttempts
from headline.accounts.password_forms import LimitedPasswordChangeForm
from headline.accounts.reset import LayoutMixin


class LogInView(LayoutMixin, LoginView):
    """The log-in with a password; the second factor follows, if the user has one."""

    template_name = "headline/log_in.html"
    authentication_form = AuthenticationForm
    extra_context = {"title": gettext_lazy("Log in")}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The context, with the other ways to sign in."""
        next_url = self.get_success_url()
        start = "saml_login" if settings.SAML else "single_sign_on" if settings.OIDC else ""
        more = {
            "app_path": self.request.get_full_path(),
            "has_passkeys": Authenticator.objects.filter(type=Authenticator.Type.WEBAUTHN).exists(),
            "sso": f"{reverse(start)}?{urlencode({'next': next_url})}" if start else "",
            "sso_name": settings.SSO_NAME or gettext("Single sign-on"),
            "success_url": next_url,
        }
        return super().get_context_data(**context, **more)

    def form_valid(self, form: Any) -> HttpResponse:
        """Continue with the user whose password was correct."""
        user = form.get_user()
        record_authentication(self.request, user, "password", reauthenticated=True)
        response: HttpResponse = perform_login(self.request, Login(user=user, redirect_url=self.get_success_url()))
        return response


@never_cache
def log_in(request: HttpRequest) -> HttpResponseBase:
    """The log-in page; members of staff who are signed in are redirected to the newsroom."""
    if request.method == "GET" and admin.site.has_permission(request):
        return HttpResponseRedirect(reverse("admin:index"))
    return with_status(LogInView.as_view()(request))


def log_out(request: HttpRequest) -> HttpResponseBase:
    """The admin's log-out; also for users without access, for whom `admin_view` would end no session."""
    if request.method in ("GET", "HEAD"):  # a reload, or a bookmark
        return HttpResponseRedirect(reverse("admin:index"))
    return admin.site.logout(request)


def change_password(request: HttpRequest) -> HttpResponseBase:
    """The admin's password change."""
    view = PasswordChangeView.as_view(
        form_class=LimitedPasswordChangeForm,
        success_url=reverse("admin:password_change_done"),
        extra_context=admin.site.each_context(request),
    )
    return with_status(view(request))


def with_status(response: Any) -> HttpResponseBase:
    """The response, with status 429 if the form was refused because of too many attempts."""
    form = (getattr(response, "context_data", None) or {}).get("form")
    errors = form.errors.as_data().values() if form is not None else ()
    refusal = next((error for field in errors for error in field if isinstance(error, TooManyAttempts)), None)
    if refusal is not None:
        response.status_code = HTTPStatus.TOO_MANY_REQUESTS
        response.headers["Retry-After"] = str(refusal.wait)
    return response  # type: ignore[no-any-return]
