"""Authentication backend that limits log-in attempts."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.backends import BaseBackend, ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from headline.accounts.directory import user_in_directory
from headline.accounts.hashing import NoTurn
from headline.accounts.login_throttle import Attempt
from headline.accounts.refusal import TEXTS
from headline.accounts.single_sign_on import SignInRefused


class LimitedBackend(ModelBackend):
    """Limits every caller of `authenticate`."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """The user with this name and password, here or in the directory, if any.

        Raises `TooManyAttempts`, or `ValidationError` if the directory knows the user, who may not sign in.
        """
        if username is None or password is None:
            return None
        username = _stored(username)
        attempt = Attempt.of(request, username)
        with attempt.checking():
            user = super().authenticate(request, username, password, **kwargs)
        if user is None and settings.LDAP:
            try:
                user = user_in_directory(request, username, password)
            except SignInRefused as reason:
                attempt.failed(reason=str(reason))
                raise ValidationError(TEXTS[str(reason)], code=str(reason)) from reason
            except NoTurn as error:
                raise attempt.postponed() from error
        if user is None:
            attempt.failed()
        else:
            attempt.succeeded()
        return user

    aauthenticate = BaseBackend.aauthenticate  # type: ignore[assignment]


def _stored(username: str) -> str:
    """The name of the account as it is stored: people do not type capitals as they were once given."""
    users = User.objects.filter(username__iexact=username).values_list("username", flat=True)
    same = [name for name in users if name.casefold() == username.casefold()]
    return same[0] if len(same) == 1 and username not in same else username
