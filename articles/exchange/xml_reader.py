"""Reading XML from strangers, one element after the other: no entity is expanded, and nothing is fetched."""

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

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # noqa: S405 (the type alone; defusedxml does the parsing)


def events(path: Path) -> Iterator[tuple[str, Element]]:
    """Yield each element at its "start", before it has children, and at its "end". Raises `Unreadable`.

    Whoever reads clears what is done with, or the whole file piles up in memory.
    """
    yield from _parsed(path, ("start", "end"))


def namespaces(path: Path) -> Iterator[tuple[str, str]]:
    """Yield prefix and namespace of each declaration of the outermost element. Raises `Unreadable`."""
    for event, found in _parsed(path, ("start-ns", "start")):
        if event == "start":
            return
        yield found


def _parsed(path: Path, kinds: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as stream:
        try:
            yield from iterparse(stream, events=kinds, forbid_dtd=True)
        except ParseError as error:
            raise Unreadable(_("Not well-formed XML: %(error)s.") % {"error": error}) from error
        except DefusedXmlException as error:
            raise Unreadable(_("The file defines entities or a document type, which no export does.")) from error
        except (LookupError, ValueError) as error:
            raise Unreadable(_("The file's encoding cannot be read: %(error)s.") % {"error": error}) from error


def plain(text: str) -> str:
    """What a title or name says that is HTML, as they are in WordPress: "Q&amp;A"."""
    return html.unescape(strip_tags(text))
