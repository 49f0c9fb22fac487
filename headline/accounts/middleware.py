"""Middleware for sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

_RENEWED = "renewed_at"


class SlidingSessionMiddleware:
    """Extends admin sessions with use: they end `SESSION_COOKIE_AGE` after the last request, within a tenth."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_used = request.path.startswith(reverse("admin:index")) and request.user.is_authenticated
        if is_used and time.time() - request.session.get(_RENEWED, 0) > settings.SESSION_COOKIE_AGE / 10:
            renew(request)
        return self.get_response(request)


@receiver(user_logged_in)
def renew(request: HttpRequest, **kwargs: Any) -> None:
    """Restart the lifetime of the session."""
    request.session[_RENEWED] = int(time.time())
