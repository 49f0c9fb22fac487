"""Django's CACHES: the response cache in Redis, if configured; other caches in process memory."""

from __future__ import annotations

from typing import Any

_MEMORY = "django.core.cache.backends.locmem.LocMemCache"


def caches(url: str) -> dict[str, dict[str, Any]]:
    """The CACHES setting, with the response cache in the Redis at `url`, or in process memory if it is empty."""
    return {
        "default": {"BACKEND": _MEMORY, "LOCATION": "default"},
        "responses": _redis(url) if url else {"BACKEND": _MEMORY, "LOCATION": "responses"},
        # Of texts that readers may never see, so they stay in the process; each has 200,000 characters at most.
        "comparisons": {"BACKEND": _MEMORY, "LOCATION": "comparisons", "OPTIONS": {"MAX_ENTRIES": 100}},
        # A separate cache, so that other entries do not evict counters.
        "throttles": {"BACKEND": _MEMORY, "LOCATION": "throttles", "OPTIONS": {"MAX_ENTRIES": 100_000}},
    }


def _redis(url: str) -> dict[str, Any]:
    options = {
        # An unreachable cache delays a page by milliseconds.
        "SOCKET_CONNECT_TIMEOUT": 0.2,
        "SOCKET_TIMEOUT": 0.25,
        "CONNECTION_POOL_CLASS": "articles.cache.server.Pool",
        # Unlike pickle, loading entries cannot run code.
        "SERIALIZER": "django_redis.serializers.msgpack.MSGPackSerializer",
    }
    return {
        "BACKEND": "django_redis.cache.RedisCache",
        "LOCATION": url,
        "KEY_FUNCTION": "scheduling.identity.cache_key",
        "OPTIONS": options,
    }
