"""The pictures of the newsroom in a text: `<img src="/media/<id>/…">` refers to the `Material` with that id."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape

from django.conf import settings

from articles.text.sanitize import clean_html

MEDIA_PATH = "/media/"
"""Where the site serves pictures, whatever `MEDIA_URL` tells readers' browsers."""

TAG = re.compile(r'<(?:img|audio|source|video)((?:\s+[\w-]+="[^"]*")*)\s*/?>')
"""A tag that brings a file along, as `clean_html` writes it."""

ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')


def references(body: str) -> list[str]:
    """The ids of the pictures that a body shows, in its order, each once; they may be nobody's, or no ids at all."""
    if MEDIA_PATH not in unescape(body) and settings.MEDIA_URL not in body:
        return []
    return list(dict.fromkeys(_references(clean_html(body))))


def reference(address: str) -> str | None:
    """The id in the address of a picture of ours; None for the address of anything else."""
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
