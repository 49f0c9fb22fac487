"""Password forms."""

from __future__ import annotations

from unfold.forms import AdminOwnPasswordChangeForm

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
