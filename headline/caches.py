"""Django's CACHES: small things in each process's memory, readers' pages in Redis where there is one."""

from __future__ import annotations

from typing import Any

_MEMORY = "django.core.cache.backends.locmem.LocMemCache"


def caches(url: str) -> dict[str, dict[str, Any]]:
    """What is kept where, with a Redis for the pages at `url`; without one, each process keeps its own."""
    return {
        "default": {"BACKEND": _MEMORY, "LOCATION": "default"},
        "responses": _redis(url) if url else {"BACKEND": _MEMORY, "LOCATION": "responses"},
        # Of its own, so that nothing else pushes counters out.
        "throttles": {"BACKEND": _MEMORY, "LOCATION": "throttles", "OPTIONS": {"MAX_ENTRIES": 100_000}},
    }


def _redis(url: str) -> dict[str, Any]:
    options = {
        # A dead cache costs a page some milliseconds, never the page.
        "SOCKET_CONNECT_TIMEOUT": 0.2,
        "SOCKET_TIMEOUT": 0.25,
        # Unlike pickle's, what lies there runs nothing when it is read.
        "SERIALIZER": "django_redis.serializers.msgpack.MSGPackSerializer",
    }
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": url,
        "KEY_FUNCTION": "scheduling.identity.cache_key",
        "OPTIONS": options,
    }
