"""The forms that ask for a password."""

from __future__ import annotations

from unfold.forms import AdminOwnPasswordChangeForm

from headline.accounts.login_throttle import Attempt


class LimitedPasswordChangeForm(AdminOwnPasswordChangeForm):
    """Who sits down at somebody's open session cannot try passwords without end either."""

    def clean_old_password(self) -> str:
        """The old password. Raises `ValidationError`, `TooManyTries` among them."""
        attempt = Attempt.of_session(self.user)
        with attempt.checking():
            password: str = super().clean_old_password()
        attempt.succeeded()
        return password
