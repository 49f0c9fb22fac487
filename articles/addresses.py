"""Addresses of the site's pages, kept in memory: Django's `reverse` is slow for the seventy of a front page."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from django.urls import get_script_prefix, reverse


def page_address(view: str, **arguments: Hashable) -> str:
    """The path of a page, by the name of its view."""
    return _reverse(get_script_prefix(), view, tuple(arguments.items()))


@lru_cache(maxsize=2_000)
def _reverse(_prefix: str, view: str, arguments: tuple[tuple[str, Hashable], ...]) -> str:
    return reverse(view, kwargs=dict(arguments))
