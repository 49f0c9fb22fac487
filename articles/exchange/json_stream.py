"""Read a large JSON document piece by piece: outer containers are streamed, their elements are decoded."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from django.utils.translation import gettext as _

from articles.exchange.records import Unreadable

CHUNK = 200_000
MAX_VALUE_LENGTH = 16_000_000
"""Characters of one piece; a longer one is probably broken."""

Piece = tuple[str, object]
"""A path such as "db.item.data.posts" and the value there; None at the start of a streamed container."""


def pieces(path: Path, is_walked: Callable[[str], bool]) -> Iterator[Piece]:
    """Yield the elements of the containers whose paths satisfy `is_walked`. Raises `Unreadable`.

    The document itself has the path "", an element of an array the name "item".
    """
    with path.open(encoding="utf-8-sig", newline="") as stream:
        document = _Document(stream, is_walked)
        try:
            yield from document.walk("")
            document.finish()
        except UnicodeDecodeError as error:
            raise Unreadable(
                _("JSON must be UTF-8, but the file is not: %(error)s.") % {"error": error.reason}
            ) from error
        except (ValueError, RecursionError) as error:
            message = _("Not well-formed JSON near character %(place)d: %(error)s.")
            raise Unreadable(message % {"place": document.place, "error": error}) from error


class _Document:
    """A buffered parser of the document. Its methods raise `ValueError`."""

    def __init__(self, stream: TextIO, is_walked: Callable[[str], bool]) -> None:
        self._stream = stream
        self._is_walked = is_walked
        self._decode = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._used = 0

    @property
    def place(self) -> int:
        """The number of characters parsed."""
        return self._used + self._at

    def walk(self, path: str) -> Iterator[Piece]:
        """Yield the next value in pieces."""
        begin = self._peek()
        if begin not in ("{", "[") or not self._is_walked(path):
            yield path, self._value()
            return
        yield path, None
        self._at += 1
        end = "}" if begin == "{" else "]"
        if self._peek() != end:
            yield from self._elements(path, begin, end)
        self._at += 1

    def finish(self) -> None:
        """Require the end of the document."""
        if self._peek():
            raise ValueError(_("there is more text after the document"))

    def _elements(self, path: str, begin: str, end: str) -> Iterator[Piece]:
        start = f"{path}." if path else ""
        while True:
            yield from self.walk(start + (self._key() if begin == "{" else "item"))
            if self._peek() == end:
                return
            self._take(",")

    def _key(self) -> str:
        self._peek()
        key = self._value()
        self._take(":")
        return str(key)

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise ValueError(_("“%(wanted)s” is missing") % {"wanted": wanted})
        self._at += 1

    def _peek(self) -> str:
        """The next character that is not a space; "" at the end."""
        while True:
            while self._text[self._at : self._at + 1] in (" ", "\n", "\r", "\t"):
                self._at += 1
            if self._at < len(self._text) or not self._read_on():
                return self._text[self._at : self._at + 1]

    def _value(self) -> object:
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._read_on():
                    raise
                continue
            if end < len(self._text) or not self._read_on():  # a number may go on
                self._at = end
                return value

    def _read_on(self) -> bool:
        """Double the buffer, so that a long piece is not parsed too often; False at the end."""
        left = len(self._text) - self._at
        if left > MAX_VALUE_LENGTH:
            raise ValueError(_("a value is broken or longer than %(limit)d characters") % {"limit": MAX_VALUE_LENGTH})
        more = self._stream.read(max(CHUNK, left))
        if more:
            self._used += self._at
            self._text, self._at = self._text[self._at :] + more, 0
        return bool(more)
