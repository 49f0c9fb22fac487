"""What holds for accounts while a request is answered."""

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
    """A session of the newsroom's screens ends `SESSION_COOKIE_AGE` after it was last used, give or take a tenth."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_used = request.path.startswith(reverse("admin:index")) and request.user.is_authenticated
        if is_used and time.time() - request.session.get(_RENEWED, 0) > settings.SESSION_COOKIE_AGE / 10:
            renew(request)
        return self.get_response(request)


@receiver(user_logged_in)
def renew(request: HttpRequest, **kwargs: Any) -> None:
    """From now on the session lasts as long as a new one."""
    request.session[_RENEWED] = int(time.time())
