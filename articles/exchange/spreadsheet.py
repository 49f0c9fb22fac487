"""Import of CSV: a heading row, then one article per row, separated by comma, semicolon or tab.

Excel's variants are supported: a byte-order mark, UTF-16 ("Unicode text") and any line ends, also inside a cell. A file
in another encoding is refused, not guessed, unless the encoding is given.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from django.utils.translation import gettext as _

from articles.exchange.records import Kind, Record, Remark, Unreadable

LONGEST_CELL = 4_000_000
"""Characters; a longer cell is probably an unclosed quotation mark."""

_NAMED = re.compile(r'"?sep=([,;\t|])"?\s*', re.IGNORECASE)
"""The line that spreadsheets write and read before the heading row."""

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def read(path: Path, *, encoding: str, site: str = "", survey: bool = False) -> Iterator[Record | Remark]:
    """Yield a record for each row that is not blank."""
    csv.field_size_limit(LONGEST_CELL)
    with path.open(encoding=_encoding_of(path) or encoding, newline="") as stream:
        delimiter, is_named = _delimiter(stream)
        if is_named:
            stream.readline()
        rows = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            yield from _records(rows, skipped=int(is_named))
        except csv.Error as error:
            raise Unreadable(
                _("Line %(number)d: %(error)s. Is a quotation mark not closed, or not doubled inside a cell?")
                % {"number": rows.line_num, "error": error}
            ) from error
        except UnicodeDecodeError as error:
            raise Unreadable(_not_decodable(rows.line_num, error)) from error


def _encoding_of(path: Path) -> str | None:
    with path.open("rb") as stream:
        start = stream.read(3)
    return next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), None)


def _delimiter(stream: TextIO) -> tuple[str, bool]:
    """The separator: that of a first line such as "sep=;", and True, or the most frequent one of the heading row."""
    try:
        heading = stream.readline(10_000)
    except UnicodeDecodeError as error:
        raise Unreadable(_not_decodable(0, error)) from error
    stream.seek(0)
    if named := _NAMED.fullmatch(heading):
        return named[1], True
    return max(",;\t", key=heading.count), False


def _records(rows: Iterator[list[str]], *, skipped: int) -> Iterator[Record | Remark]:
    columns = _columns(next(rows, []))
    before = rows.line_num  # type: ignore[attr-defined]
    for row in rows:
        place = _("line %(number)d") % {"number": before + 1 + skipped}
        before = rows.line_num  # type: ignore[attr-defined]
        if any(cell.strip() for cell in row):
            yield _record(place, columns, row)


def _columns(heading: list[str]) -> list[str]:
    columns = [cell.strip().lower().replace(" ", "_") for cell in heading]
    if "title" not in columns:
        raise Unreadable(_('The first line must name the columns, among them "title".'))
    named = [column for column in columns if column]
    if len(named) != len(set(named)):
        raise Unreadable(_("Two columns have the same name."))
    return [column or f"#{number}" for number, column in enumerate(columns, start=1)]


def _record(place: str, columns: list[str], row: list[str]) -> Record | Remark:
    if len(row) != len(columns):
        message = _("%(found)d cells instead of %(wanted)d; put quotation marks around a cell with a separator in it")
        return Remark(Kind.FAILED, place, message % {"found": len(row), "wanted": len(columns)})
    return Record(place, dict(zip(columns, row, strict=True)))


def _not_decodable(line: int, error: UnicodeDecodeError) -> str:
    return _(
        'Shortly after line %(number)d the text is not %(encoding)s. Save it as "CSV UTF-8", or name its --encoding, '
        "such as cp1252 or gb18030."
    ) % {"number": line, "encoding": error.encoding.upper()}
