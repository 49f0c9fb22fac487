"""Authentication backend that limits log-in attempts."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.models import User
from django.http import HttpRequest

from headline.accounts.login_throttle import Attempt


class LimitedBackend(ModelBackend):
    """Limits every caller of `authenticate`."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """The user with this name and password, if any. Raises `TooManyAttempts`."""
        if username is None or password is None:
            return None
        attempt = Attempt.of(request, username)
        with attempt.checking():
            user = super().authenticate(request, username, password, **kwargs)
        if user is None:
            attempt.failed()
        else:
            attempt.succeeded()
        return user

    aauthenticate = BaseBackend.aauthenticate  # type: ignore[assignment]
