"""Log-in throttling: every password check is counted and allowed before anything is hashed.

The limit is strict per account and address, wider per address and per account. A browser in which its owner once logged
in has a signed device cookie and a limit of its own, so that attackers elsewhere cannot lock the owner out of it; see https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies.
"""

from __future__ import annotations

import math
import secrets
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _, ngettext

from articles.audit import (
    Action,
    record_beside,
)
from headline.accounts import hashing
from headline.accounts.address import address_of
from headline.accounts.rate_limits import Limit

MINUTE = timedelta(minutes=1)
PAIR = Limit("account and address", burst=10, every=MINUTE)
ADDRESS = Limit("address", burst=50, every=timedelta(seconds=6))
ACCOUNT = Limit("account", burst=50, every=MINUTE)
DEVICE = Limit("device", burst=10, every=MINUTE)

COOKIE = "known_device"
COOKIE_AGE = timedelta(days=180)
_SALT = "headline.accounts.device"
_BUSY = timedelta(seconds=5)
_IGNORED = "CMZ"  # categories of Unicode: control and format characters, marks, separators
_MINUTES_FROM = 120  # seconds from which the wait is given in minutes


class TooManyAttempts(ValidationError):
    """No password may be checked for `wait` seconds."""

    def __init__(self, wait: timedelta) -> None:
        self.wait = max(1, math.ceil(wait.total_seconds()))
        super().__init__(_too_many(self.wait), code="too_many_tries")


def _too_many(wait: int) -> str:
    if wait < _MINUTES_FROM:
        return (
            ngettext("Too many attempts. Try again in %d second.", "Too many attempts. Try again in %d seconds.", wait)
            % wait
        )
    return _("Too many attempts. Try again in %d minutes.") % math.ceil(wait / 60)


@dataclass(frozen=True)
class Attempt:
    """One password check: its account, address and known browser."""

    account: str
    address: str
    device: str = ""
    known_as: str = ""  #: the log-in name of an existing account; other input may be a password

    @classmethod
    def of(cls, request: HttpRequest | None, username: str) -> Attempt:
        """The attempt to log in as `username`, normalised."""
        user = get_user_model()._default_manager.filter(username=username).first()
        known_as = user.get_username() if user else ""
        device = _device(request, user) if request and user else ""
        return cls(_normalised(known_as or username), address_of(request), device, known_as)

    @classmethod
    def of_session(cls, user: Any) -> Attempt:
        """The attempt of a logged-in user to confirm the password."""
        return cls(_normalised(user.get_username()), "", f"session of {user.pk}", user.get_username())

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Check the password in this block. Raises `TooManyAttempts` before it starts."""
        self._count()
        try:
            with hashing.turn(is_known=bool(self.device)):
                yield
        except hashing.NoTurn as error:
            raise self.postponed() from error

    def postponed(self) -> TooManyAttempts:
        """The error to raise because too many passwords are being checked; uncounts the attempt."""
        self._uncount()
        return TooManyAttempts(_BUSY)

    def succeeded(self) -> None:
        """Record a correct password: uncounts the wrong attempts for this account at this address."""
        self._uncount()
        # The other counters stay: an attacker who has one account must not clear the limits of an address or of other
        # accounts.
        for limit, subject in self._counters()[-1:] if self.device else [(PAIR, self._pair)]:
            limit.clear(subject)

    @property
    def _pair(self) -> str:
        return f"{self.account}\n{self.address}"

    def _counters(self) -> list[tuple[Limit, str]]:
        """The counters, in an order in which one address cannot use up the limits of others."""
        if self.device:
            return [(DEVICE, self.device)]
        # The widest first: a refused address counts for no account, and so locks no owner out.
        return [(ADDRESS, self.address), (PAIR, self._pair), (ACCOUNT, self.account)]

    def _count(self) -> None:
        for limit, subject in self._counters():
            if wait := limit.take(subject):
                if limit.is_to_be_reported(subject):
                    self._record(Action.LOCKED_OUT, limit=limit.name)
                raise TooManyAttempts(wait)

    def failed(self, **details: Any) -> None:
        """Record a wrong password, or an account that may not log in."""
        self._record(Action.LOG_IN_FAILED, **details)

    def _record(self, action: str, **details: Any) -> None:
        record_beside(action, title=self.known_as, address=self.address, **details)

    def _uncount(self) -> None:
        for limit, subject in self._counters():
            limit.uncount(subject)


def remember_device(response: HttpResponse, user: Any) -> None:
    """Set the device cookie: this browser is known to `user` from now on."""
    value = signing.dumps([user.pk, secrets.token_hex(16)], salt=_SALT)
    response.set_cookie(
        COOKIE,
        value,
        max_age=COOKIE_AGE,
        # Sent with the log-in alone: it is no session, and no other page has to see it.
        path=reverse("admin:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _device(request: HttpRequest, user: Any) -> str:
    """The id of this browser, if `user` has logged in with it before."""
    try:
        pk, number = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=COOKIE_AGE)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(number) if pk == user.pk else ""


def _normalised(name: str) -> str:
    """Normalise a name: spellings that a database or a directory may treat as one account are one."""
    plain = unicodedata.normalize("NFKD", name)
    return "".join(char for char in plain if unicodedata.category(char)[0] not in _IGNORED).casefold()[:150]
