"""An authenticator app for tests."""

from __future__ import annotations

import time

from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value
from django.contrib.auth.models import User
from django.test import Client

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def connect_app(user: User) -> None:
    """Give the user an authenticator app with `SECRET`."""
    TOTP.activate(user, SECRET)


def code(secret: str = SECRET, *, periods: int = 0) -> str:
    """The code that the app shows, or showed or shows some periods from now."""
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + periods)))


def wrong_code() -> str:
    """A code that is wrong now and in the next minutes."""
    right = {code(periods=number) for number in range(-3, 10)}
    return next(text for number in range(20) if (text := f"{number:06}") not in right)


def log_in(client: Client, name: str, password: str, next_url: str = "/admin/") -> str:
    """Send the log-in form; the address to which it leads."""
    response = client.post("/admin/login/", {"username": name, "password": password, "next": next_url})
    return str(response.headers.get("Location", ""))
