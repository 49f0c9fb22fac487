"""What every check of a password passes: is it allowed now? Decided, and counted, before anything is hashed.

Strict for an account from one address, wider for an address and for an account. A browser in which its owner once
logged in carries a signed cookie and is counted by itself alone, so nobody can lock a person out of it from elsewhere;
see https://owasp.org/www-community/Slow_Down_Online_Guessing_Attacks_with_Device_Cookies.
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
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from articles.audit import LOCKED_OUT, LOG_IN_FAILED, record_beside
from headline.accounts import hashing, limits
from headline.accounts.address import address_of
from headline.accounts.limits import Limit

MINUTE = timedelta(minutes=1)
PAIR = Limit("account and address", burst=10, every=MINUTE)
ADDRESS = Limit("address", burst=50, every=timedelta(seconds=6))
ACCOUNT = Limit("account", burst=50, every=MINUTE)
DEVICE = Limit("device", burst=10, every=MINUTE)

COOKIE = "known_device"
COOKIE_AGE = timedelta(days=180)
_SALT = "headline.accounts.device"
_BUSY = timedelta(seconds=5)
_MINUTES_FROM = 120  # seconds


class TooManyTries(ValidationError):
    """No password is checked now; `wait` says in how many seconds one may be."""

    def __init__(self, wait: timedelta) -> None:
        self.wait = max(1, math.ceil(wait.total_seconds()))
        super().__init__(_too_many(self.wait), code="too_many_tries")


def _too_many(wait: int) -> str:
    if wait < _MINUTES_FROM:
        return (
            ngettext("Too many tries. Try again in %d second.", "Too many tries. Try again in %d seconds.", wait) % wait
        )
    return _("Too many tries. Try again in %d minutes.") % math.ceil(wait / 60)


@dataclass(frozen=True)
class Attempt:
    """One check of a password: for which account, from which address, from which known browser."""

    account: str
    address: str
    device: str = ""
    known_as: str = ""  #: the log-in name, if there is such an account; what else was typed may be a password

    @classmethod
    def of(cls, request: HttpRequest | None, username: str) -> Attempt:
        """The attempt to log in as `username`, however that is spelt."""
        user = get_user_model()._default_manager.filter(username=username).first()
        known_as = user.get_username() if user else ""
        device = _device(request, user) if request and user else ""
        return cls(_folded(known_as or username), address_of(request), device, known_as)

    @classmethod
    def of_session(cls, user: Any) -> Attempt:
        """The attempt of who is logged in as `user` already to prove it again."""
        return cls(_folded(user.get_username()), "", f"session of {user.pk}", user.get_username())

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Check the password in this block. Raises `TooManyTries` before it begins."""
        self._take()
        try:
            with hashing.turn(is_known=bool(self.device)):
                yield
        except hashing.NoTurn as error:
            self._give_back()
            raise TooManyTries(_BUSY) from error

    def succeeded(self) -> None:
        """It was the right password: what was tried wrong before is forgiven, to the account at this address."""
        self._give_back()
        for limit, subject in self._counters()[-1:] if self.device else [(PAIR, self._pair)]:
            limit.clear(subject)
        limits.prune()

    @property
    def _pair(self) -> str:
        return f"{self.account}\n{self.address}"

    def _counters(self) -> list[tuple[Limit, str]]:
        """In an order in which one address alone can use up nothing of what other addresses have."""
        if self.device:
            return [(DEVICE, self.device)]
        return [(ADDRESS, self.address), (PAIR, self._pair), (ACCOUNT, self.account)]

    def _take(self) -> None:
        for limit, subject in self._counters():
            if wait := limit.take(subject):
                if limit.is_to_be_reported(subject):
                    self._record(LOCKED_OUT, limit=limit.name)
                raise TooManyTries(wait)

    def failed(self) -> None:
        """It was the wrong password, or nobody who may log in."""
        self._record(LOG_IN_FAILED)

    def _record(self, action: str, **details: Any) -> None:
        record_beside(action, title=self.known_as, address=self.address, **details)

    def _give_back(self) -> None:
        for limit, subject in self._counters():
            limit.give_back(subject)


def remember_device(response: HttpResponse, user: Any) -> None:
    """From now on this browser is known as one in which `user` logged in."""
    value = signing.dumps([user.pk, secrets.token_hex(16)], salt=_SALT)
    response.set_cookie(
        COOKIE,
        value,
        max_age=COOKIE_AGE,
        path=reverse("admin:login"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _device(request: HttpRequest, user: Any) -> str:
    """The number of this browser, if `user` logged in with it before."""
    try:
        pk, number = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=COOKIE_AGE)
    except (signing.BadSignature, ValueError, TypeError):
        return ""
    return str(number) if pk == user.pk else ""


def _folded(name: str) -> str:
    """Spellings that some database takes for one account are one."""
    plain = unicodedata.normalize("NFKD", name)
    return "".join(char for char in plain if not unicodedata.combining(char)).casefold().strip()[:150]
