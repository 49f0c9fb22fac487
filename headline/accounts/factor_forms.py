"""Forms for second factors: attempts with codes are limited in the database, and each code works once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import (
    AddWebAuthnForm,
    AuthenticateWebAuthnForm,
    LoginWebAuthnForm,
    ReauthenticateWebAuthnForm,
)
from cryptography.exceptions import InvalidSignature
from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _, pgettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from articles.audit import Action, record_beside
from articles.limits import CODE_LENGTH, LABEL_LENGTH, PASSKEY_LENGTH
from headline.accounts.login_throttle import TooManyAttempts
from headline.accounts.rate_limits import Limit
from headline.api.parsers import depth_of
from scheduling.limits import JSON_DEPTH

CODES = Limit("code", burst=5, every=timedelta(minutes=5))
_USED = Limit("used code", burst=1, every=timedelta(minutes=5))


class LimitedCode(forms.Form):
    """Limits guesses for each user, also across processes; combined with a form of django-allauth."""

    user: Any
    code = forms.CharField(
        label=pgettext_lazy("second factor", "Code"),
        max_length=CODE_LENGTH,
        widget=UnfoldAdminTextInputWidget(attrs={"autocomplete": "one-time-code", "autofocus": True}),
    )

    def clean_code(self) -> str:
        """The code. Raises `ValidationError`, including `TooManyAttempts`."""
        subject = str(self.user.pk)
        if wait := CODES.take(subject):
            if CODES.is_to_be_reported(subject):
                self._record(Action.LOCKED_OUT, limit=CODES.name)
            raise TooManyAttempts(wait)
        try:
            code: str = super().clean_code()  # type: ignore[misc]
        except ValidationError:
            self._record(Action.LOG_IN_FAILED, reason="code")
            raise
        if _USED.take(f"{subject}\n{''.join(filter(str.isalnum, code))}"):
            raise ValidationError(_("This code was used before. Wait for the next one."), code="used")
        CODES.clear(subject)
        return code

    def _record(self, action: str, **details: Any) -> None:
        record_beside(action, title=self.user.get_username(), **details)


class CodeForm(LimitedCode, AuthenticateForm):  # type: ignore[misc]
    """The code at a sign-in, of an app or a recovery code."""


class ConfirmCodeForm(LimitedCode, ReauthenticateForm):  # type: ignore[misc]
    """The code once more, before a change of the account's security."""


class PasskeyField(forms.JSONField):
    """What a browser sends for a passkey; its depth is checked before it is parsed."""

    def __init__(self) -> None:
        super().__init__(max_length=PASSKEY_LENGTH, widget=forms.HiddenInput)

    def to_python(self, value: Any) -> Any:
        """The parsed JSON. Raises `ValidationError`."""
        if isinstance(value, str) and (len(value) > PASSKEY_LENGTH or depth_of(value.encode()) > JSON_DEPTH):
            raise ValidationError(_("The passkey could not be checked. Try again."), code="passkey")
        try:
            return super().to_python(value)
        except ValueError as error:  # a number with too many digits
            raise ValidationError(_("The passkey could not be checked. Try again."), code="passkey") from error


class StrictPasskey(forms.Form):
    """Refuses garbage instead of failing; combined with a form of django-allauth."""

    credential = PasskeyField()

    def clean_credential(self) -> Any:
        """The passkey that signed the challenge. Raises `ValidationError`."""
        try:
            return super().clean_credential()  # type: ignore[misc]
        except (AttributeError, KeyError, TypeError, ValueError, InvalidSignature) as error:
            raise ValidationError(_("The passkey could not be checked. Try again."), code="passkey") from error


class PasskeyLogInForm(StrictPasskey, LoginWebAuthnForm):  # type: ignore[misc]
    """A passkey instead of a password."""


class PasskeyCodeForm(StrictPasskey, AuthenticateWebAuthnForm):  # type: ignore[misc]
    """A passkey after the password."""


class ConfirmPasskeyForm(StrictPasskey, ReauthenticateWebAuthnForm):  # type: ignore[misc]
    """A passkey before a change of the account's security."""


class PasskeyForm(AddWebAuthnForm):  # type: ignore[misc]
    """A new passkey and its name."""

    credential = PasskeyField()
    name = forms.CharField(
        label=_("Name of the passkey"), max_length=LABEL_LENGTH, required=False, widget=UnfoldAdminTextInputWidget
    )

    def clean(self) -> dict[str, Any]:
        """The cleaned data. Raises `ValidationError`, also for garbage."""
        try:
            return dict(super().clean())
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValidationError(_("The passkey could not be checked. Try again."), code="passkey") from error


class ActivateForm(LimitedCode, ActivateTOTPForm):  # type: ignore[misc]
    """The first code of an app."""
