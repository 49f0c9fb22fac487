"""The formats that can be imported, and how to tell them apart."""

from __future__ import annotations

import re
from pathlib import Path

from django.utils.translation import gettext as _

from articles.exchange import json_lines, spreadsheet, wordpress, wordpress_writing
from articles.exchange.exporter import Writer
from articles.exchange.records import Reader, Unreadable

READERS: dict[str, Reader] = {"jsonl": json_lines.read, "csv": spreadsheet.read, "wxr": wordpress.read}
WRITERS: dict[str, Writer] = {"jsonl": json_lines.write, "wxr": wordpress_writing.write}

EXTENSIONS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "csv", ".xml": "wxr", ".wxr": "wxr"}

_SIGNS = {
    "jsonl": re.compile(rb"\s*\{"),
    "wxr": re.compile(rb"\s*<"),
    "csv": re.compile(rb"[^\n]*\btitle\b", re.IGNORECASE),
}


def guess_format(path: Path) -> str:
    """The format by the file's extension, or by how it begins. Raises `Unreadable`."""
    if path.suffix.lower() in EXTENSIONS:
        return EXTENSIONS[path.suffix.lower()]
    with path.open("rb") as stream:
        start = stream.read(4096).removeprefix(b"\xef\xbb\xbf")
    for name, sign in _SIGNS.items():
        if sign.match(start):
            return name
    raise Unreadable(_("The format cannot be told from the file; name it with --format."))
