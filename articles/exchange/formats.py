"""Formats of import and export, and their detection."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from django.utils.translation import gettext as _

from articles.exchange import feeds, ghost, json_lines, spreadsheet, wordpress, wordpress_export
from articles.exchange.export import Writer
from articles.exchange.records import Reader, Unreadable

READERS: dict[str, Reader] = {
    "jsonl": json_lines.read,
    "csv": spreadsheet.read,
    "wxr": wordpress.read,
    "ghost": ghost.read,
    "rss": feeds.read,
}
WRITERS: dict[str, Writer] = {"jsonl": json_lines.write, "wxr": wordpress_export.write}

EXTENSIONS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".wxr": "wxr",
    ".rss": "rss",
    ".atom": "rss",
    ".rdf": "rss",
}
WRITTEN = {".jsonl": "jsonl", ".ndjson": "jsonl", ".xml": "wxr", ".wxr": "wxr"}
"""The format of an exported file by its extension."""

OFTEN = {".json": "jsonl", ".xml": "wxr"}
"""The format by extension if the content does not match any format."""

COMPRESSED = (b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""Magic bytes of gzip, zip, bzip2, xz and Zstandard."""

_START = 16_384
"""Bytes read to detect a format; WordPress exports begin with a long comment."""

_SIGNS = {
    "ghost": re.compile(rb'\s*\{\s*"(?:db|meta|data)"\s*:'),
    "jsonl": re.compile(rb"\s*\{"),
    "wxr": re.compile(rb"\s*<.*wordpress\.org/export/", re.DOTALL),
    "rss": re.compile(rb"\s*<(?:.*<)?(?:rss|feed|\w+:RDF|\w+:feed)\b", re.DOTALL),
    "csv": re.compile(rb"[^\n]*\btitle\b", re.IGNORECASE),
}


def guess_format(path: Path) -> str:
    """The format by the file's extension or content. Raises `Unreadable`."""
    start, extension = _beginning(path), path.suffix.lower()
    if start.startswith(COMPRESSED):
        raise Unreadable(_("The file is compressed; unpack it first."))
    if extension in EXTENSIONS:
        return EXTENSIONS[extension]
    found = next((name for name, sign in _SIGNS.items() if sign.match(start)), None) or OFTEN.get(extension)
    if found is None:
        raise Unreadable(_("The format cannot be detected; set it with --format."))
    return found


def _beginning(path: Path) -> bytes:
    with path.open("rb") as stream:
        start = stream.read(_START).removeprefix(codecs.BOM_UTF8)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return start.decode("utf-16", errors="ignore").encode()
    return start
