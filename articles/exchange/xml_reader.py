"""Streaming reader for untrusted XML: entities are not expanded and nothing is fetched."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import ParseError, iterparse
from django.utils.html import strip_tags
from django.utils.translation import gettext as _

from articles.exchange.records import Unreadable
from articles.exchange.xml_repair import RepairedXml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # noqa: S405 (the type alone; defusedxml does the parsing)


def events(path: Path, encoding: str = "utf-8", notes: list[str] | None = None) -> Iterator[tuple[str, Element]]:
    """Yield each element at its "start", without children, and at its "end". Raises `Unreadable`.

    The caller must clear processed elements to keep memory constant. `encoding` is that of a file that declares none;
    what was repaired is added to `notes` after the last element.
    """
    yield from _parsed(path, ("start", "end"), encoding, notes)


def namespaces(path: Path, encoding: str = "utf-8") -> Iterator[tuple[str, str]]:
    """Yield prefix and namespace of each declaration on the root element. Raises `Unreadable`."""
    for event, found in _parsed(path, ("start-ns", "start"), encoding, None):
        if event == "start":
            return
        yield found


def _parsed(path: Path, kinds: tuple[str, ...], encoding: str, notes: list[str] | None) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as stream:
        try:
            text = RepairedXml(stream, encoding)
            yield from iterparse(text, events=kinds, forbid_dtd=True)
        except ParseError as error:
            raise Unreadable(_("The XML is not well-formed: %(error)s.") % {"error": error}) from error
        except DefusedXmlException as error:
            raise Unreadable(_("The file defines entities or a document type, which is not allowed.")) from error
        except (LookupError, ValueError) as error:
            raise Unreadable(_("The file's encoding cannot be read: %(error)s.") % {"error": error}) from error
        if notes is not None and text.removed:
            notes.append(_("control characters, which XML does not allow, are removed"))


def plain(text: str) -> str:
    """The plain text of a title or name in HTML, such as "Q&amp;A"."""
    return html.unescape(strip_tags(text))
