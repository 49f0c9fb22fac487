"""Slugs."""

from __future__ import annotations

from django.utils.text import slugify


def slug_of(name: str) -> str:
    """The slug of `name`; never empty: 🔥 becomes "-"."""
    return slugify(name, allow_unicode=True) or "-"
