"""XML as UTF-8 without what makes parsers refuse a whole file: other encodings, control characters, a blank first line.

A document type without definitions of its own is removed. Outside CDATA sections, entities of HTML are replaced by
their characters, and an ampersand that begins no reference, as in the addresses of some exports, is escaped.
"""

from __future__ import annotations

import codecs
import re
from html import escape
from html.entities import html5
from typing import BinaryIO

_HEAD = 16_384
_DECLARED = re.compile(rb"""\s*<\?xml\b[^<>]*?\bencoding\s*=\s*["']([A-Za-z0-9._-]+)["'][^<>]*\?>""")
_DECLARATION = re.compile(r"<\?xml\b[^<>]*\?>\s*")
_DOCTYPE = re.compile(r"<!DOCTYPE\b[^\[\]<>]*>\s*", re.IGNORECASE)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NUMBERED = re.compile(r"&#(?:x0*(?:[0-8bcef]|1[0-9a-f]|fff[ef]|d[89a-f]..)|0*(?:[0-8]|1[124-9]|2\d|3[01]));", re.I)
_STEPS = re.compile(r"<!\[CDATA\[|\]\]>|&(#\d{1,8};|#x[0-9A-Fa-f]{1,8};|[A-Za-z][A-Za-z0-9]{1,30};)?")
_CUT = re.compile(r"(?:<(?:!(?:\[(?:C(?:D(?:A(?:TA?)?)?)?)?)?)?|\]\]?|&[#A-Za-z0-9]{0,32})\Z")
"""The beginning of a step at the end of a part of the file."""
_LONGEST_STEP = 40
_XML = {"amp;", "lt;", "gt;", "quot;", "apos;"}
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "hz": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949"}
"""Encodings under whose name files contain characters of a wider one."""

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}


class RepairedXml:
    """A file for a parser. `encoding` is for files that declare none; `removed` counts removed control characters.

    Raises `LookupError` for an unknown encoding and `UnicodeDecodeError` for text that is not in it.
    """

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self.removed = 0
        self._stream = stream
        start = stream.read(_HEAD)
        self._decoder = codecs.getincrementaldecoder(_encoding_of(start, encoding))()
        self._is_in_cdata = False
        self._rest = ""
        self._pending = self._head(self._decoder.decode(start, final=len(start) < _HEAD)).encode()

    def read(self, size: int = -1) -> bytes:
        """The next part as UTF-8; empty at the end."""
        while not self._pending and (part := self._stream.read(_HEAD if size < 0 else size)):
            self._pending = self._repaired(self._decoder.decode(part)).encode()
        if not self._pending:
            self._pending = self._repaired(self._decoder.decode(b"", final=True), is_last=True).encode()
        found, self._pending = self._pending, b""
        return found

    def _head(self, text: str) -> str:
        """The beginning without declaration, which may name another encoding, and without a harmless document type."""
        text = _DECLARATION.sub("", text.lstrip(), count=1).lstrip()
        begin = text.find("<", 0)
        found = _DOCTYPE.search(text, begin) if begin >= 0 else None
        if found and not re.search(r"<[A-Za-z]", text[: found.start()]):
            text = text[: found.start()] + text[found.end() :]
        return self._repaired(text)

    def _repaired(self, text: str, *, is_last: bool = False) -> str:
        text, self._rest = self._rest + text, ""
        if not is_last and (cut := _CUT.search(text, max(0, len(text) - _LONGEST_STEP))):
            text, self._rest = text[: cut.start()], text[cut.start() :]
        text, count = _CONTROLS.subn("", text)
        if "&#" in text:
            text, numbered = _NUMBERED.subn("", text)
            count += numbered
        self.removed += count
        return _STEPS.sub(self._step, text)

    def _step(self, found: re.Match[str]) -> str:
        if not found[0].startswith("&"):
            # The end of a section that never began is left to the parser, which refuses it.
            self._is_in_cdata = found[0].startswith("<")
            return found[0]
        if self._is_in_cdata or found[0].startswith("&#") or found[1] in _XML:
            return found[0]
        return escape(html5.get(found[1] or "", found[0]), quote=False)


def _encoding_of(start: bytes, encoding: str) -> str:
    mark = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
    declared = _DECLARED.match(start)
    name = codecs.lookup(declared[1].decode() if declared else encoding).name
    return mark or _WIDER.get(name, name)
