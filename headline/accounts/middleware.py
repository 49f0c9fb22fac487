"""What holds for accounts while a request is answered."""

from __future__ import annotations

import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

_RENEWED = "renewed_at"


class SlidingSessionMiddleware:
    """A session of the newsroom's screens ends `SESSION_COOKIE_AGE` after it was last used, give or take a tenth."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(reverse("admin:index")) and request.user.is_authenticated:
            now = int(time.time())
            if now - request.session.get(_RENEWED, 0) > settings.SESSION_COOKIE_AGE / 10:
                request.session[_RENEWED] = now
        return self.get_response(request)
