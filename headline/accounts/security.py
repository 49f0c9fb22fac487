"""The screens on which users see and change how they sign in."""

from __future__ import annotations

from typing import Any

from allauth.account.models import Login
from allauth.account.utils import get_next_redirect_url
from allauth.account.views import ReauthenticateView
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base import views as codes
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import views as recovery
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as passkeys
from allauth.mfa.webauthn.internal.flows import perform_passwordless_login
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse_lazy
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST
from django.views.generic import TemplateView

from headline.accounts.refusal import recorded_refusal
from headline.accounts.reset import LayoutMixin
from headline.accounts.second_factor import is_missing, is_required
from headline.accounts.sessions import end_session, end_sessions, sessions_of
from headline.accounts.single_sign_on import STARTS, refuse_many
from headline.accounts.views import with_status


class SecurityView(LayoutMixin, TemplateView):
    """Second factors and recovery codes of the user."""

    template_name = "headline/security.html"
    extra_context = {"title": _("Security")}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The context, with what the user has set up."""
        user: Any = self.request.user
        factors = Authenticator.objects.filter(user=user).order_by("pk")
        rows = {row.type: row for row in factors}
        unused = rows["recovery_codes"].wrap().get_unused_codes() if "recovery_codes" in rows else []
        return super().get_context_data(
            **context,
            app=rows.get("totp"),
            passkeys=[row for row in factors if row.type == Authenticator.Type.WEBAUTHN],
            recovery=rows.get("recovery_codes"),
            unused_count=len(unused),
            sessions=sessions_of(user),
            session_key=self.request.session.session_key,
            is_required=is_required(user),
            is_missing=is_missing(self.request, user),
        )


@require_POST
def end_sessions_view(request: HttpRequest) -> HttpResponse:
    """End one of the user's sessions, or all but this one."""
    user: Any = request.user
    if (number := request.POST.get("session", "")).isdecimal():
        end_session(user, int(number))
    else:
        end_sessions(user, except_key=request.session.session_key)
    return redirect("mfa_index")


class CodeView(LayoutMixin, codes.AuthenticateView):  # type: ignore[misc]
    """The second step of a sign-in."""

    template_name = "headline/code.html"
    extra_context = {"title": _("Second factor")}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The context, with whether the user has an app and a passkey."""
        kinds = set(Authenticator.objects.filter(user=self.stage.login.user).values_list("type", flat=True))
        return super().get_context_data(**context) | {"has_app": "totp" in kinds, "has_passkey": "webauthn" in kinds}

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form again, with status 429 after too many attempts."""
        return with_status(super().form_invalid(form))  # type: ignore[return-value]


class PasskeyLogInView(passkeys.LoginWebAuthnView):  # type: ignore[misc]
    """Signs in with a passkey alone; its device has verified the user."""

    def get(self, request: HttpRequest, *args: Any, **options: Any) -> HttpResponse:
        """The challenge, which is stored in a session: a limited number of times for each address."""
        if too_many := refuse_many(request, STARTS):
            return too_many
        response: HttpResponse = super().get(request, *args, **options)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        """Continue with the owner of the passkey."""
        passkey = form.cleaned_data["credential"]
        login = Login(user=passkey.user, redirect_url=get_next_redirect_url(self.request))
        response: HttpResponse = perform_passwordless_login(self.request, passkey, login)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        """Say that the passkey is unknown."""
        return recorded_refusal(self.request, "passkey")


class ConfirmMixin(LayoutMixin):
    """Asks for the password or a code once more before a change."""

    template_name = "headline/confirm.html"
    extra_context = {"title": _("Confirm that it is you")}

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form again, with status 429 after too many attempts."""
        return with_status(super().form_invalid(form))  # type: ignore[misc,return-value]


class ConfirmPasswordView(ConfirmMixin, ReauthenticateView):  # type: ignore[misc]
    """With the password."""


class ConfirmCodeView(ConfirmMixin, codes.ReauthenticateView):  # type: ignore[misc]
    """With a code."""


class ConfirmPasskeyView(ConfirmMixin, passkeys.ReauthenticateWebAuthnView):  # type: ignore[misc]
    """With a passkey."""

    def form_invalid(self, form: Any) -> HttpResponse:
        """The page again, with another challenge."""
        return redirect(self.request.get_full_path())


class AddPasskeyView(LayoutMixin, passkeys.AddWebAuthnView):  # type: ignore[misc]
    """Adds a passkey."""

    template_name = "headline/security_passkey.html"
    extra_context = {"title": _("Add a passkey")}


class RemovePasskeyView(LayoutMixin, passkeys.RemoveWebAuthnView):  # type: ignore[misc]
    """Removes a passkey."""

    template_name = "headline/security_confirm.html"
    success_url = reverse_lazy("mfa_index")
    extra_context = {
        "title": _("Remove the passkey"),
        "text": _("You can no longer log in with it. Recovery codes end with the last second factor."),
        "button": _("Remove"),
        "is_dangerous": True,
    }

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """The context, without the object, for which unfold links a changelist."""
        return super().get_context_data(**context) | {"object": None}

    def form_valid(self, form: Any) -> HttpResponse:
        """Remove it, unless it is the last factor and a role needs one."""
        adapter = get_adapter()
        if not adapter.can_delete_authenticator(self.get_object()):
            form.add_error(None, adapter.validation_error("cannot_delete_authenticator"))
            invalid: HttpResponse = self.form_invalid(form)
            return invalid
        response: HttpResponse = super().form_valid(form)
        return response


class AddAppView(LayoutMixin, totp.ActivateTOTPView):  # type: ignore[misc]
    """Connects an authenticator app."""

    template_name = "headline/security_app.html"
    extra_context = {"title": _("Connect an authenticator app")}

    def form_invalid(self, form: Any) -> HttpResponse:
        """The form again, with status 429 after too many attempts."""
        return with_status(super().form_invalid(form))  # type: ignore[return-value]


class RemoveAppView(LayoutMixin, totp.DeactivateTOTPView):  # type: ignore[misc]
    """Removes the authenticator app."""

    template_name = "headline/security_confirm.html"
    extra_context = {
        "title": _("Remove the authenticator app"),
        "text": _("You then sign in without its codes. Recovery codes end with the last second factor."),
        "button": _("Remove"),
        "is_dangerous": True,
    }


class RecoveryCodesView(LayoutMixin, recovery.ViewRecoveryCodesView):  # type: ignore[misc]
    """Shows recovery codes once."""

    template_name = "headline/security_codes.html"
    extra_context = {"title": _("Recovery codes")}


class NewRecoveryCodesView(LayoutMixin, recovery.GenerateRecoveryCodesView):  # type: ignore[misc]
    """Replaces the recovery codes."""

    template_name = "headline/security_confirm.html"
    extra_context = {
        "title": _("New recovery codes"),
        "text": _("The present codes stop working."),
        "button": _("Create new codes"),
    }


def urls() -> list[URLPattern]:
    """The URL patterns, with the names that django-allauth redirects to."""
    screens = [
        ("", SecurityView, "mfa_index"),
        ("app/add/", AddAppView, "mfa_activate_totp"),
        ("app/remove/", RemoveAppView, "mfa_deactivate_totp"),
        ("codes/", RecoveryCodesView, "mfa_view_recovery_codes"),
        ("codes/new/", NewRecoveryCodesView, "mfa_generate_recovery_codes"),
        ("confirm/password/", ConfirmPasswordView, "account_reauthenticate"),
        ("confirm/passkey/", ConfirmPasskeyView, "mfa_reauthenticate_webauthn"),
        ("passkeys/add/", AddPasskeyView, "mfa_add_webauthn"),
        ("passkeys/<int:pk>/remove/", RemovePasskeyView, "mfa_remove_webauthn"),
        ("confirm/code/", ConfirmCodeView, "mfa_reauthenticate"),
    ]
    return [
        path("admin/login/code/", CodeView.as_view(), name="mfa_authenticate"),
        path("admin/login/passkey/", PasskeyLogInView.as_view(), name="mfa_login_webauthn"),
        path("admin/security/sessions/end/", admin.site.admin_view(end_sessions_view), name="end_sessions"),
        *(path(f"admin/security/{end}", _for_staff(view), name=name) for end, view, name in screens),
    ]


def _for_staff(view: Any) -> Any:
    return admin.site.admin_view(view.as_view())
