"""TTL of cached responses: pages, feeds, sitemaps and the API have the same one, which ends at the next change."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

MAX_TTL = timedelta(minutes=1)
"""The longest TTL: it bounds how long a change stays invisible if its purge was lost or the cache is not ours."""

SHARED_AGE = 1
"""Seconds for which proxies that are purged may cache a response, except at its end."""

ENDING = 2.0
"""Seconds before the end of a response in which proxies do not cache it: `SHARED_AGE`, and one for the network."""

IMAGE_AGE = 60
"""Seconds for which browsers use an image that they have loaded without asking for it again."""


def storage_ttl(ttl: float) -> float:
    """The seconds to store a response that is valid for `ttl` seconds: at most `PAGE_CACHE_SECONDS`."""
    return min(ttl, settings.PAGE_CACHE_SECONDS)
