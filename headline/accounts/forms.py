"""Password forms."""

from __future__ import annotations

from allauth.account.forms import ReauthenticateForm
from django import forms
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.widgets import UnfoldAdminPasswordWidget

from headline.accounts.login_throttle import Attempt


class LimitedPasswordChangeForm(AdminOwnPasswordChangeForm):
    """Limits guesses of the old password in an open session."""

    def clean_old_password(self) -> str:
        """The old password. Raises `ValidationError`, including `TooManyAttempts`."""
        attempt = Attempt.of_session(self.user)
        with attempt.checking():
            password: str = super().clean_old_password()
        attempt.succeeded()
        return password


class ConfirmPasswordForm(ReauthenticateForm):  # type: ignore[misc]
    """The password again, before a change of the account's security; limited like a log-in."""

    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password", "autofocus": True}),
    )
