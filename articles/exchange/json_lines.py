"""Import and export of JSON Lines: one JSON object per line in UTF-8. Blank lines are allowed."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from django.utils.translation import gettext as _

from articles.exchange.export import Export
from articles.exchange.records import Kind, Record, Remark, Unreadable
from articles.exchange.shapes import SITE
from articles.exchange.whole_site import lines_after, lines_before

LONGEST_LINE = 8_000_000
"""Bytes; a longer line is a failed record."""


def read(path: Path, *, encoding: str, site: str = "", survey: bool = False) -> Iterator[Record | Remark]:
    """Yield a record for each line. Raises `Unreadable` if no line is a JSON object."""
    objects, first_remark = 0, None
    with path.open("rb") as stream:
        for number, line in _numbered_lines(stream):
            outcome = _parse(_("line %(number)d") % {"number": number}, line, encoding)
            objects += isinstance(outcome, Record)
            first_remark = first_remark or (outcome if isinstance(outcome, Remark) else None)
            yield outcome
    if first_remark and not objects:
        raise Unreadable(
            _("No line is a JSON object. %(place)s: %(message)s")
            % {"place": first_remark.place, "message": first_remark.message}
        )


def write(export: Export) -> Iterator[str]:
    """Yield a line for each article, and each other row of a whole site; importing them gives the same."""
    before, after = (lines_before(), lines_after(export.now)) if export.whole_site else ((), ())
    for fields in chain(before, (item.fields() for item in export.items()), after):
        yield json.dumps(fields, ensure_ascii=False) + "\n"


def _numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := stream.readline(LONGEST_LINE):
        number += 1
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        if line.strip():
            yield number, line
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = stream.readline(LONGEST_LINE)


def _parse(place: str, line: bytes, encoding: str) -> Record | Remark:
    if len(line) >= LONGEST_LINE:
        return Remark(Kind.FAILED, place, _("longer than %(limit)d bytes") % {"limit": LONGEST_LINE})
    try:
        value = json.loads(line.decode(encoding).rstrip())
    except UnicodeDecodeError as error:
        return Remark(Kind.FAILED, place, _not_decodable(error))
    except json.JSONDecodeError as error:
        message = _("not valid JSON at column %(column)d: %(error)s") % {"column": error.colno, "error": error.msg}
        return Remark(Kind.FAILED, place, message)
    except (ValueError, RecursionError):
        return Remark(Kind.FAILED, place, _("not valid JSON: a number too long or brackets too deep"))
    if not isinstance(value, dict):
        return Remark(Kind.FAILED, place, _('not a JSON object; each line must be one, such as {"title": "…"}'))
    kind = value.get("kind")
    if isinstance(kind, str) and kind in SITE:
        return Record(place, {name: given for name, given in value.items() if name != "kind"}, kind=kind)
    return Record(place, value)


def _not_decodable(error: UnicodeDecodeError) -> str:
    return _("byte %(position)d is not %(encoding)s; save the file as UTF-8 or name its --encoding") % {
        "position": error.start + 1,
        "encoding": error.encoding.upper(),
    }
