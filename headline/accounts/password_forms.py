"""Password forms."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeVar

from allauth.account.forms import ReauthenticateForm
from django import forms
from django.core.validators import MaxLengthValidator
from django.utils.translation import gettext_lazy as _
from unfold.forms import AdminOwnPasswordChangeForm
from unfold.widgets import UnfoldAdminPasswordWidget

from articles.limits import PASSWORD_LENGTH
from headline.accounts.login_throttle import Attempt

Form = TypeVar("Form", bound=type[forms.BaseForm])


def with_short_passwords(form: Form) -> Form:
    """Limit the passwords of a form; Django's have no limit."""
    form.base_fields = deepcopy(form.base_fields)  # type: ignore[attr-defined]
    for field in form.base_fields.values():  # type: ignore[attr-defined]
        if isinstance(field.widget, forms.PasswordInput):
            field.max_length = PASSWORD_LENGTH
            field.validators.append(MaxLengthValidator(PASSWORD_LENGTH))
    return form


class StoresPassword:
    """Mixin of a form that stores a password and nothing else.

    Django's writes the whole user as it was read: a user whom another one deactivates then would be active again.
    """

    def set_password_and_save(self, user: Any, *args: Any, commit: bool = True, **options: Any) -> Any:
        """The user, with the password."""
        user = super().set_password_and_save(user, *args, commit=False, **options)  # type: ignore[misc]
        if commit:
            user.save(update_fields=["password"])
        return user


@with_short_passwords
class LimitedPasswordChangeForm(StoresPassword, AdminOwnPasswordChangeForm):
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
        max_length=PASSWORD_LENGTH,
        label=_("Password"),
        strip=False,
        widget=UnfoldAdminPasswordWidget(attrs={"autocomplete": "current-password", "autofocus": True}),
    )
