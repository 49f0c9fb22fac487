"""System checks: a way of keeping answers that nobody can mean is named at the start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from articles.cache.backend import responses
from articles.cache.ttl import LONGEST
from headline.redis_addresses import server_and_database


@register
def check_keeping(app_configs: object, **options: Any) -> list[CheckMessage]:
    """How long answers are kept, and whether proxies can be purged in time."""
    return [*_check_time(), *_check_proxies()]


def _check_time() -> Iterator[CheckMessage]:
    seconds, longest = settings.PAGE_CACHE_SECONDS, LONGEST.total_seconds()
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= longest:
        hint = f"Give it a number of seconds above 0, and at most {longest:.0f}."
        yield Error(f"PAGE_CACHE_SECONDS is {seconds!r}.", hint=hint, id="articles.E008")


def _check_proxies() -> Iterator[CheckMessage]:
    if settings.CDN_PURGE_HEADER and not settings.CDN_PURGE_URLS:
        hint = "Name the proxies in CDN_PURGE_URLS; without, they are told to keep nothing."
        yield checks.Warning("CDN_PURGE_HEADER is set, but nobody is told.", hint=hint, id="articles.W009")
    if settings.CDN_PURGE_URLS and not settings.REDIS_CACHE_URL:
        hint = "Set REDIS_URL: without Redis, a process that did not hear of a change may give a proxy the old again."
        yield checks.Warning("CDN_PURGE_URLS is set, but the cache is not shared.", hint=hint, id="articles.W010")


@register(deploy=True)
def check_memory(app_configs: object, **options: Any) -> list[CheckMessage]:
    """That neither the cache nor the queue can take the other's memory. An unreachable server is for others to name."""
    if not settings.REDIS_CACHE_URL:
        return []
    return [*_check_separation(), *_check_eviction()]


def _check_separation() -> Iterator[CheckMessage]:
    queue = settings.SCHEDULING_REDIS_URL
    if queue and server_and_database(queue)[:3] == server_and_database(settings.REDIS_CACHE_URL)[:3]:
        hint = "Set REDIS_CACHE_URL to a Redis server of its own: readers who fill the cache would stop the queue."
        yield checks.Warning("The cache and the queue share the memory of one server.", hint=hint, id="articles.W011")


def _check_eviction() -> Iterator[CheckMessage]:
    client: Any = getattr(responses, "client", None)
    try:
        memory = client.get_client().info("memory")
    except Exception:  # each cache has errors of its own
        return
    if memory["maxmemory_policy"] == "noeviction" or not memory["maxmemory"]:
        found = f"maxmemory is {memory['maxmemory']}, maxmemory-policy {memory['maxmemory_policy']}"
        hint = "Set maxmemory, and maxmemory-policy to allkeys-lru: at its limit it would keep no new page."
        yield checks.Warning(f"The cache's Redis cannot make room: {found}.", hint=hint, id="articles.W012")
