"""The last part of an address, made from a name."""

from __future__ import annotations

from django.utils.text import slugify


def slug_of(name: str) -> str:
    """`name` as part of an address; never empty, for an address that ends there does not exist: 🔥 becomes "-"."""
    return slugify(name, allow_unicode=True) or "-"
