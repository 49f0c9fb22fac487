"""Rate limit for anonymous requests by client address, counted in this process's memory."""

from __future__ import annotations

import time
from math import ceil
from typing import Any, cast

from django.core.cache import caches
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from headline.accounts.address import address_of
from headline.api.wire import RATE_LIMIT


class AddressThrottle(SimpleRateThrottle):
    """Limits anonymous requests per window and address.

    One atomic increment counts and checks a request, without a server, so it works while Redis is away or full.
    """

    scope = "anon"
    num_requests: int | None  #: in each window; DRF reads both from the rate
    duration: int | None  #: seconds

    def get_cache_key(self, request: Request, view: Any) -> str | None:
        """The key of the address; None for authenticated users, who are not counted."""
        if request.user and request.user.is_authenticated:
            return None
        return self.cache_format % {"scope": self.scope, "ident": address_of(cast(HttpRequest, request))}

    def allow_request(self, request: Request, view: Any) -> bool:
        """Whether this request is within the limit; it counts in any case."""
        key = self.get_cache_key(request, view)
        if key is None or self.num_requests is None or self.duration is None:
            return True
        window, self.now = divmod(time.monotonic(), self.duration)
        counter, counters = f"{key}:{window:.0f}", caches["throttles"]
        counters.add(counter, 0, timeout=self.duration)
        count: int = counters.incr(counter)
        request.META[RATE_LIMIT] = self._headers(self.num_requests, self.duration, count)
        return count <= self.num_requests

    def _headers(self, most: int, duration: int, count: int) -> list[tuple[str, str]]:
        """The policy and what is left of it, as in the IETF draft "RateLimit header fields for HTTP"."""
        left, reset = max(most - count, 0), ceil(self.wait())
        return [
            ("RateLimit-Policy", f'"address";q={most};w={duration}'),
            ("RateLimit", f'"address";r={left};t={reset}'),
        ]

    def wait(self) -> float:
        """Seconds until the next window."""
        return float(self.duration or 0) - self.now
