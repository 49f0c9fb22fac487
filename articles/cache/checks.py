"""System checks of the response cache's settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register
from django.utils.translation import gettext as _

from articles.cache.backend import responses
from articles.cache.ttl import MAX_TTL
from scheduling.redis_addresses import server_and_database


@register
def check_response_cache(app_configs: object, **options: Any) -> list[CheckMessage]:
    """Check the TTL and the settings for CDN purges."""
    return [*_check_ttl(), *_check_cdn()]


def _check_ttl() -> Iterator[CheckMessage]:
    seconds, longest = settings.PAGE_CACHE_SECONDS, MAX_TTL.total_seconds()
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 < seconds <= longest:
        hint = f"Give it a number of seconds above 0, and at most {longest:.0f}."
        yield Error(f"PAGE_CACHE_SECONDS is {seconds!r}.", hint=hint, id="articles.E008")


def _check_cdn() -> Iterator[CheckMessage]:
    if settings.CDN_PURGE_HEADER and not settings.CDN_PURGE_URLS:
        hint = _("List the proxies in CDN_PURGE_URLS; without it, responses tell proxies not to cache.")
        message = _("CDN_PURGE_HEADER is set, but CDN_PURGE_URLS is empty.")
        yield checks.Warning(message, hint=hint, id="articles.W009")
    if settings.CDN_PURGE_URLS and not settings.REDIS_CACHE_URL:
        hint = _("Set REDIS_URL: without Redis, a process that missed a purge may send a proxy the old response again.")
        yield checks.Warning(_("CDN_PURGE_URLS is set, but the cache is not shared."), hint=hint, id="articles.W010")


@register(deploy=True)
def check_memory(app_configs: object, **options: Any) -> list[CheckMessage]:
    """Check that cache and queue cannot use up each other's memory. Other checks report an unreachable server."""
    if not settings.REDIS_CACHE_URL:
        return []
    return [*_check_separation(), *_check_eviction()]


def _check_separation() -> Iterator[CheckMessage]:
    queue = settings.SCHEDULING_REDIS_URL
    if queue and server_and_database(queue)[:3] == server_and_database(settings.REDIS_CACHE_URL)[:3]:
        hint = _("Set REDIS_CACHE_URL to a separate Redis server: a full cache would stop the queue.")
        message = _("The cache and the queue share the memory of one server.")
        yield checks.Warning(message, hint=hint, id="articles.W011")


def _check_eviction() -> Iterator[CheckMessage]:
    client: Any = getattr(responses, "client", None)
    try:
        memory = client.get_client().info("memory")
    except Exception:  # each backend has its own exceptions
        return
    if memory["maxmemory_policy"] == "noeviction" or not memory["maxmemory"]:
        found = f"maxmemory {memory['maxmemory']}, maxmemory-policy {memory['maxmemory_policy']}"
        hint = _("Set maxmemory, and maxmemory-policy to allkeys-lru: when full, it would store no new responses.")
        message = _("The cache's Redis does not evict: %(found)s.") % {"found": found}
        yield checks.Warning(message, hint=hint, id="articles.W012")
