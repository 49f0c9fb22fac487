"""System checks: a way of keeping answers that nobody can mean is named at the start."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, register

from articles.caching.coherence import LONGEST


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
