"""Import of RSS 2.0 (https://www.rssboard.org/rss-specification), RSS 1.0 and Atom (RFC 4287) feeds.

Each entry becomes a published article with the entry's date. Its first category is the channel, the others are tags. A
summary without a text becomes the text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from html import escape, unescape
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from defusedxml.ElementTree import tostring
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from articles.exchange.external_id import with_source
from articles.exchange.losses import losses
from articles.exchange.outside_times import Parsed, clear_or_none, is_missing, parse_time
from articles.exchange.records import COUNTED, Kind, Record, Refused, Remark, Unreadable
from articles.exchange.validate import BYLINE, SUMMARY, digest
from articles.exchange.xml_reader import events, plain
from articles.text import clean_html, complete

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # noqa: S405 (the type alone)

PREFIXES = {
    "http://www.w3.org/2005/Atom": "atom:",
    "http://purl.org/rss/1.0/": "",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf:",
    "http://purl.org/rss/1.0/modules/content/": "content:",
    "http://purl.org/dc/elements/1.1/": "dc:",
    "http://search.yahoo.com/mrss/": "media:",
    "http://www.w3.org/2007/app": "app:",
    "http://purl.org/atom/app#": "app:",
    "http://purl.org/syndication/thread/1.0": "thr:",
    "http://schemas.google.com/blogger/2018": "blogger:",
}
ROOTS = {"rss", "rdf:RDF", "atom:feed"}
ENTRIES = {"item", "atom:entry"}
DATES = ("pubDate", "atom:published", "dc:date", "atom:updated")
TEXTS = ("content:encoded", "atom:content")
SUMMARIES = ("description", "atom:summary", "blogger:metaDescription")
TERMS = {"category", "atom:category", "dc:subject"}
KIND = "http://schemas.google.com/g/2005#kind"
"""The scheme of categories that say what an entry is, in Blogger's exports: post, comment, page, settings, template."""

NO_CHANNEL = "uncategorized"
WORDPRESS = ("{http://wordpress.org/export/", "{https://wordpress.org/export/")
PLAYERS = {
    "image": '<img src="%s" alt="">',
    "audio": '<audio src="%s" controls></audio>',
    "video": '<video src="%s" controls></video>',
}
"""HTML of attached files, by the main type of their media type."""

_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_ATOM_ID = "{http://www.w3.org/2005/Atom}id"
_ATOM_TITLE = "{http://www.w3.org/2005/Atom}title"
_ATOM_AUTHOR = "{http://www.w3.org/2005/Atom}author"
_MARKUP = re.compile(r"</?(?:a|b|br|code|em|i|mark|q|s|small|span|strong|sub|sup|u)\b[^<>]*>", re.IGNORECASE)


class Author(NamedTuple):
    """An author of an entry."""

    name: str
    email: str = ""


def read(path: Path, *, encoding: str, site: str = "", survey: bool = False) -> Iterator[Record | Remark]:
    """Yield a record for each entry. `encoding` is that of XML which declares none."""
    shared = set() if survey else _shared(_entries(path, encoding, site, []))
    notes: list[str] = []
    for number, entry in enumerate(_entries(path, encoding, site, notes), start=1):
        yield COUNTED if survey else _record(number, entry, shared)
    yield from (Remark(Kind.NOTED, path.name, note) for note in notes)


def _entries(path: Path, encoding: str, site: str, notes: list[str]) -> Iterator[Entry]:
    """The entries, each of which is dropped before the next one."""
    feed: list[Element] = []
    base = site
    for event, element in events(path, encoding, notes):
        name = _short(element.tag)
        if event == "start":
            feed = _head(name, element, feed)
            base = _base(feed, site) if name in ENTRIES else base
        elif element.tag.startswith(WORDPRESS):
            raise Unreadable(_("This is a WordPress export, not a feed; use --format wxr."))
        elif name in ENTRIES:
            yield Entry(element, feed, base)
            for one in feed:
                _drop_entries(one)


def _shared(entries: Iterable[Entry]) -> set[int]:
    """The hashes of the guids that several entries have, whose links or headlines differ."""
    first: dict[int, int] = {}
    return {key for entry in entries if (key := hash(entry.guid)) and first.setdefault(key, entry.mark) != entry.mark}


def _head(name: str, element: Element, feed: list[Element]) -> list[Element]:
    """The elements that contain the entries, outermost first: the root, and in RSS the channel."""
    if not feed and name not in ROOTS:
        raise Unreadable(_("The XML file is neither RSS nor Atom."))
    return [*feed, element] if not feed or (name == "channel" and len(feed) == 1) else feed


def _drop_entries(parent: Element) -> None:
    """Remove read entries, so that memory stays constant."""
    for child in list(parent):
        if _short(child.tag) in ENTRIES:
            parent.remove(child)


def _base(feed: list[Element], site: str) -> str:
    """The base of the feed's relative URLs."""
    links = [_link(one) for one in feed]
    base = site or next(filter(None, reversed(links)), "")
    for one in feed:
        base = complete(base, one.get(_BASE, ""))
    return base


class Entry:
    """One entry of a feed, with the feed's defaults."""

    def __init__(self, element: Element, feed: list[Element], base: str) -> None:
        self._element = element
        self._feed = feed
        self._base = complete(base, element.get(_BASE, ""))
        self.notes: list[str] = []

    @property
    def kind(self) -> str:
        """What it is, if it is no post: a comment, page, part of a template, …; or ""."""
        kinds = [child.get("term", "") for child in self._element if child.get("scheme") == KIND]
        kind = kinds[0].rpartition("#")[2] if kinds else self._text("blogger:type").lower()
        if self._text("blogger:status").endswith("TRASHED"):
            return _("discarded post")
        if self._find("thr:in-reply-to") is not None:
            return "comment"
        return "" if kind == "post" else kind

    def _status(self) -> str:
        control = self._find("app:control")
        drafts = [] if control is None else [child.text or "" for child in control if _short(child.tag) == "app:draft"]
        is_draft = any(draft.strip().lower() == "yes" for draft in drafts)
        return "draft" if is_draft or self._text("blogger:status") not in ("", "LIVE") else "published"

    @property
    def source(self) -> str:
        """What its guid is unique within: the address of the feed's site, its id, the entry's host, or its name."""
        ids = ((one.findtext(_ATOM_ID) or "").strip() for one in self._feed)
        links = (_link(one) for one in reversed(self._feed))
        host = "/".join(_link(self._element).split("/")[:3])
        names = ((one.findtext("title") or one.findtext(_ATOM_TITLE) or "").strip() for one in reversed(self._feed))
        return next(filter(None, [*links, *ids, host, self._base, *names]), "")

    @property
    def guid(self) -> str:
        """Its guid or URL, by which former versions identified it; or ""."""
        return self._text("guid", "atom:id") or self._element.get(_ABOUT, "") or _link(self._element)

    @property
    def mark(self) -> int:
        """A hash of what tells it apart from others with its guid."""
        return hash((_link(self._element), self._title()))

    def ids(self, shared: Collection[int]) -> tuple[str, ...]:
        """Its external id, and others that it may have got before. Raises `Refused`.

        If `shared` contains the hash of its guid, other entries have it, too: link and headline are part of the id.
        """
        if not self.guid:
            message = _("is missing, and so is the link; without either, a repeated import would create duplicates")
            raise Refused("guid", message)
        external_id = with_source(self.guid, self.source)
        if hash(self.guid) not in shared:
            return tuple(dict.fromkeys([external_id, self.guid]))
        mark = digest({"link": _link(self._element), "title": self._title()})
        return tuple(dict.fromkeys([f"{external_id}#{mark}", external_id, self.guid]))

    def fields(self) -> dict[str, object]:
        """The record's fields. Raises `Refused`."""
        authors, terms = self._authors(), self._terms()
        names = [author.name for author in authors if author.name]
        summary, body = self._summary_and_body()
        return {
            "title": self._title(),
            "summary": Truncator(plain(summary).strip()).chars(SUMMARY),
            "body": body + self._media(body),
            "status": self._status(),
            "publish_at": self._date(),
            "text_changed_at": clear_or_none(self._text("atom:updated")),
            "author": authors[0].email or authors[0].name if authors else "",
            "author_name": names[0] if names else "",
            "byline": Truncator(_(", ").join(names)).chars(BYLINE) if len(names) > 1 else "",
            "channel": terms[0] if terms else "",
            "tags": terms[1:],
            **self._slug(),
        }

    def _slug(self) -> dict[str, object]:
        """That of its address at Blogger, which is in the file."""
        filename = PurePosixPath(self._text("blogger:filename")).stem
        return {"slug": filename} if filename else {}

    def _date(self) -> str | None:
        """The first date that is not missing or zero, in ISO 8601 with an offset; an unclear one as it is."""
        dates = (self._text(name) for name in DATES)
        text = next((date for date in dates if not is_missing(date)), None)
        try:
            return None if text is None else self._noted(parse_time("date", text))
        except Refused:
            return text

    def _noted(self, parsed: Parsed) -> str:
        if parsed.note:
            self.notes.append(parsed.note)
        return parsed.moment.isoformat()

    def _title(self) -> str:
        title = self._find("title", "atom:title")
        text = "" if title is None else _unmarked(_html(title))
        return unescape(text) if self._text("blogger:type") else text  # Blogger's exports escape headlines twice

    def _summary_and_body(self) -> tuple[str, str]:
        text, summary = self._markup(*TEXTS), self._markup(*SUMMARIES)
        return (summary, text) if text and text != summary else ("", text or summary)

    def _markup(self, *names: str) -> str:
        element = self._find(*names)
        if element is None or element.get("src"):
            return ""
        html = _html(element).strip()
        self.notes += losses(html) if self._base else []
        base = complete(self._base, element.get(_BASE, ""))
        return clean_html(html, base=base) if base else html

    def _authors(self) -> list[Author]:
        feed = next((one for one in self._feed if one.find(_ATOM_AUTHOR) is not None), None)
        found = [author for child in self._element if (author := _author(child))]
        if found or feed is None:
            return found
        return [author for child in feed if (author := _author(child))]

    def _terms(self) -> list[str]:
        terms = [child for child in self._element if _short(child.tag) in TERMS and child.get("scheme") != KIND]
        found = [_term(child) for child in terms]
        return [term for term in dict.fromkeys(found) if term and term.lower() != NO_CHANNEL]

    def _media(self, body: str) -> str:
        """HTML of attached images, audio and video that are not in the text."""
        return "".join(
            f"\n\n<figure>{PLAYERS[kind] % escape(complete(self._base, address))}</figure>"
            for address, kind in _attached(self._element).items()
            if escape(address) not in body
        )

    def _find(self, *names: str) -> Element | None:
        children = {_short(child.tag): child for child in reversed(self._element)}
        return next((children[name] for name in names if name in children), None)

    def _text(self, *names: str) -> str:
        element = self._find(*names)
        return "" if element is None else (element.text or "").strip()


def _record(number: int, entry: Entry, shared: Collection[int]) -> Record | Remark:
    place = _("item %(number)d") % {"number": number}
    if entry.kind:
        return Remark(Kind.FOREIGN, place, entry.kind)
    try:
        external_id, *former_ids = entry.ids(shared)
        fields = {"external_id": external_id, **entry.fields()}
        return Record(place, fields, tuple(entry.notes), former_ids=tuple(former_ids))
    except Refused as error:
        return Remark(Kind.FAILED, place, str(error))
    except RecursionError:
        return Remark(Kind.FAILED, place, _("its elements are nested too deep"))


def _html(element: Element) -> str:
    """The content of an element as HTML; Atom declares whether it is text, HTML or XHTML."""
    kind = element.get("type", "text" if _short(element.tag).startswith("atom:") else "html")
    if kind == "xhtml":
        return "".join(_serialised(child) for child in element)
    return escape(element.text or "", quote=False) if kind in ("text", "text/plain") else element.text or ""


def _unmarked(text: str) -> str:
    """A title without markup. RSS does not say whether it is text or HTML, so only known tags are removed."""
    return unescape(_MARKUP.sub("", text))


def _serialised(element: Element) -> str:
    for each in element.iter():
        each.tag = each.tag.rpartition("}")[2]
    element.tail = None
    return str(tostring(element, encoding="unicode", method="html"))


def _author(element: Element) -> Author | None:
    name, text = _short(element.tag), (element.text or "").strip()
    if name == "atom:author":
        values = {_short(child.tag): (child.text or "").strip() for child in element}
        return Author(values.get("atom:name", ""), values.get("atom:email", ""))
    if name == "author" and text.endswith(")") and "(" in text:  # "mei@gazette.example (Mei Li)"
        email, _bracket, display_name = text[:-1].partition("(")
        return Author(display_name.strip(), email.strip())
    if name == "author" and "@" in text:
        return Author("", text)
    return Author(text) if name in ("dc:creator", "author") and text else None


def _term(element: Element) -> str:
    return _unmarked(element.get("label") or element.get("term") or element.text or "").strip()


def _attached(entry: Element) -> dict[str, str]:
    """The main types of attached files by URL; thumbnails only if there are no other files."""
    found, thumbnails = {}, {}
    for child in entry.iter():
        name = _short(child.tag)
        address = child.get("href" if name == "atom:link" else "url", "")
        kind = (child.get("type") or child.get("medium") or "").partition("/")[0]
        if name == "media:thumbnail":
            thumbnails[address] = "image"
        elif name in ("enclosure", "media:content") or child.get("rel") == "enclosure":
            found[address] = kind
    playable = {address: kind for address, kind in found.items() if address and kind in PLAYERS}
    return playable or {address: kind for address, kind in thumbnails.items() if address}


def _link(element: Element) -> str:
    for child in element:
        name = _short(child.tag)
        if name == "link" and (child.text or "").strip():
            return (child.text or "").strip()
        if name == "atom:link" and child.get("rel", "alternate") == "alternate":
            return child.get("href", "")
    return ""


@lru_cache(maxsize=512)
def _short(tag: str) -> str:
    namespace, _brace, name = tag.removeprefix("{").rpartition("}")
    return PREFIXES.get(namespace, f"{namespace}:") + name if namespace else name
