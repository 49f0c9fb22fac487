"""References from HTML to library images: `<img src="/media/<id>/…">` refers to the `Image` with that id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from django.conf import settings

from articles.text.sanitize import clean_html

MEDIA_PATH = "/media/"
"""The path of images in stored texts, independent of `MEDIA_URL`."""

TAG = re.compile(r'<(?:img|audio|source|video)((?:\s+[\w-]+="[^"]*")*)\s*/?>')
"""A tag with a media file, as `clean_html` writes it."""

ATTRIBUTE = re.compile(r'(?<![\w-])([\w-]++)="([^"]*+)"')


def references(body: str) -> list[str]:
    """The distinct ids of the images in a body, in order; the ids may be unknown or invalid."""
    lower = body.lower()  # names of attributes have no entities, in which their values may be spelt
    if not ("src" in lower or "poster" in lower):
        return []
    if MEDIA_PATH not in unescape(body) and settings.MEDIA_URL not in body:
        return []
    return list(dict.fromkeys(_references(clean_html(body))))


def reference(address: str) -> str | None:
    """The id in a library image's URL; None for any other URL."""
    for prefix in (MEDIA_PATH, f"{settings.SITE_URL}{MEDIA_PATH}", settings.MEDIA_URL):
        if address.startswith(prefix):
            return address.removeprefix(prefix).partition("/")[0].lower()
    return None


def _references(html: str) -> Iterator[str]:
    for tag in TAG.finditer(html):
        for name, value in ATTRIBUTE.findall(tag[1]):
            found = reference(unescape(value)) if name in {"src", "poster"} else None
            if found is not None:
                yield found
