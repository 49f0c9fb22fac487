"""Import of WXR, WordPress's export format. Posts become articles; everything else is skipped.

https://github.com/WordPress/WordPress/blob/master/wp-admin/includes/export.php writes it. Attachments and categories
may come after the posts that refer to them, so the file is read twice. A post's first category, except
"Uncategorized", is the channel; the others are tags. Dates are UTC; drafts without a date have zeros.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from articles.exchange.external_id import with_source
from articles.exchange.outside_times import clear_or_none, in_our_zone, is_missing, parse_time
from articles.exchange.records import COUNTED, Kind, Record, Refused, Remark, Unreadable
from articles.exchange.validate import BYLINE, CHANNEL, TITLE
from articles.exchange.wordpress_html import Attachment, Body, Library, Post, render
from articles.exchange.xml_reader import events, namespaces, plain
from articles.models import LINES
from articles.text import plain_text

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # noqa: S405 (the type alone)

NO_DATE = "0000-00-00 00:00:00"
DISCARDED = {"trash", "auto-draft"}
META = {
    f"_headline_{name}": name for name in (*LINES, "embargo_until", "unpublish_at") if name not in ("title", "summary")
}
"""Custom fields of our exports for what WordPress does not have. WordPress hides those that begin with "_"."""

CO_AUTHORS = "author"
"""The taxonomy of the plugin Co-Authors Plus, with the names of a post's authors."""

FEATURED, FOOTNOTES, ALT = "_thumbnail_id", "footnotes", "_wp_attachment_image_alt"

_HOUSEKEEPING = re.compile(r"_(?:edit_last|edit_lock|encloseme|oembed_.*|pingme|wp_.*|headline_.*)")
"""Internal custom fields of WordPress and of our exports, which are skipped without a note."""

PRIVATE = "private"
"""WordPress's status of posts that only its editors see; password-protected posts are treated the same."""

_DECLARED = ("wp", "excerpt")
"""Prefixes whose namespace is the one the file declares, as in WordPress."""

_USUAL = {
    "http://wordpress.org/export/1.1/": "wp:",
    "http://wordpress.org/export/1.1/excerpt/": "excerpt:",
    "http://purl.org/rss/1.0/modules/content/": "content:",
    "http://purl.org/dc/elements/1.1/": "dc:",
}
_UNTITLED_LENGTH = 80


class Author(NamedTuple):
    """An author in the file."""

    email: str
    name: str


class Category(NamedTuple):
    """A category in the head of the file; `parent` is a slug."""

    name: str
    parent: str = ""
    description: str = ""


@dataclass
class Site:
    """The objects that posts refer to."""

    prefixes: dict[str, str]
    version: str = ""
    address: str = ""
    items: int = 0
    users: dict[str, Author] = field(default_factory=dict)  #: by login name
    categories: dict[str, Category] = field(default_factory=dict)  #: by slug
    guids: dict[int, str] = field(default_factory=dict)  #: by the hash of a guid, the post that it identifies
    notes: list[str] = field(default_factory=list)
    library: Library = field(default_factory=Library)

    def add(self, name: str, element: Element) -> None:
        """Add one element of the channel."""
        if name == "wp:wxr_version":
            self.version = element.text or ""
        elif name == "wp:base_blog_url" or (name == "wp:base_site_url" and not self.address):
            self.address = (element.text or "").strip()
        elif name == "wp:author":
            self._add_user(self.children(element))
        elif name == "wp:category":
            self._add_category(self.children(element))
        elif name == "item":
            self.items += 1
            item = self.children(element)
            self._add_guid(item)
            if item.get("wp:post_type") == "attachment":
                self._add_attachment(item, self.custom_fields(element).get(ALT, ""))

    def _add_guid(self, post: dict[str, str]) -> None:
        """A guid that several posts have is that of the post whose number it has, or else of the first."""
        guid, pk = post.get("guid", ""), post.get("wp:post_id", "")
        if hash(guid) not in self.guids or guid.endswith(f"?p={pk}"):
            self.guids[hash(guid)] = pk

    def ids(self, post: dict[str, str]) -> tuple[str, ...]:
        """Its guid, with its number if it is another post's; and as former versions stored it, without the site."""
        guid, pk = post.get("guid", ""), post.get("wp:post_id", "")
        if not guid:
            return (f"{self.address.removesuffix('/')}?p={pk}",)
        found = guid if self.guids.get(hash(guid), pk) == pk else f"{guid}#post-{pk}"
        return tuple(dict.fromkeys([with_source(found, self.address), found]))

    def _add_user(self, user: dict[str, str]) -> None:
        name = plain(user.get("wp:author_display_name", ""))
        self.users[user.get("wp:author_login", "")] = Author(user.get("wp:author_email", ""), name)

    def _add_category(self, category: dict[str, str]) -> None:
        self.categories[unquote(category.get("wp:category_nicename", ""))] = Category(
            plain(category.get("wp:cat_name", "")),
            unquote(category.get("wp:category_parent", "")),
            plain(category.get("wp:category_description", "")),
        )

    def _add_attachment(self, item: dict[str, str], alt: str) -> None:
        address, pk = item.get("wp:attachment_url", ""), item.get("wp:post_id", "")
        if not address:
            return
        self.library.files[pk] = Attachment(address, alt, item.get("excerpt:encoded", ""))
        if (parent := item.get("wp:post_parent", "0")) != "0":
            self.library.of_post[parent].append(pk)

    def short(self, tag: str) -> str:
        """An element's name with the usual prefix of its namespace."""
        namespace, name = _parts(tag)
        return self.prefixes.get(namespace, f"{namespace}:") + name if namespace else name

    def children(self, element: Element) -> dict[str, str]:
        """The texts of an element's children."""
        return {self.short(child.tag): child.text or "" for child in element}

    def custom_fields(self, element: Element) -> dict[str, str]:
        """The custom fields of an item."""
        found = (self.children(each) for each in element if self.short(each.tag) == "wp:postmeta")
        return {each.get("wp:meta_key", ""): each.get("wp:meta_value", "") for each in found}

    @cached_property
    def shared_names(self) -> set[str]:
        """Names of several categories, such as "Local" in "Politics" and "Local" in "Sports"."""
        counted = Counter(category.name.casefold() for category in self.categories.values())
        return {name for name, count in counted.items() if count > 1}


@lru_cache(maxsize=500)
def _parts(tag: str) -> tuple[str, str]:
    """The namespace, or "", and the name of a tag."""
    namespace, _brace, name = tag.removeprefix("{").rpartition("}")
    return namespace, name


def read(path: Path, *, encoding: str, site: str = "", survey: bool = False) -> Iterator[Record | Remark]:
    """Yield a record for each post. `encoding` is that of XML which declares none."""
    known = _read_references(path, encoding)
    known.address = f"{site or known.address}/" if site or known.address else ""
    if survey:
        yield from repeat(COUNTED, known.items)
    else:
        items = (element for name, element in _children_of_the_channel(path, known, encoding) if name == "item")
        for number, element in enumerate(items, start=1):
            yield _record(number, element, known)
    yield from (Remark(Kind.NOTED, path.name, note) for note in dict.fromkeys(known.notes))


def _read_references(path: Path, encoding: str) -> Site:
    declared = {uri: f"{prefix}:" for prefix, uri in namespaces(path, encoding) if prefix in _DECLARED}
    site = Site(_USUAL | declared)
    for name, element in _children_of_the_channel(path, site, encoding):
        site.add(name, element)
        if name == "item" and not site.version:
            break
    if not site.version:
        raise Unreadable(_("The XML file is not a WordPress export: it has no wp:wxr_version."))
    return site


def _children_of_the_channel(path: Path, site: Site, encoding: str) -> Iterator[tuple[str, Element]]:
    """Yield each complete child element of the channel, and drop it afterwards."""
    depth, channel = 0, None
    for event, element in events(path, encoding, site.notes):
        if event == "start":
            depth += 1
            channel = element if depth == 2 else channel  # noqa: PLR2004 (the root is 1)
            continue
        depth -= 1
        if depth == 2 and channel is not None:  # noqa: PLR2004
            yield site.short(element.tag), element
            channel.clear()  # keeps memory constant


def _record(number: int, element: Element, site: Site) -> Record | Remark:
    post = site.children(element)
    place = _("item %(number)d (post %(post)s)") % {"number": number, "post": post.get("wp:post_id", "?")}
    kind = post.get("wp:post_type", "post")
    if kind != "post":
        return Remark(Kind.FOREIGN, place, kind)
    if post.get("wp:status") in DISCARDED:
        return Remark(Kind.FOREIGN, place, _("discarded post"))
    custom = site.custom_fields(element)
    body = _body(post, custom, site)
    terms = _Terms(element, site)
    date, date_note = _date(post)
    external_id, *former_ids = site.ids(post)
    fields = {"external_id": external_id, **_fields(post, body, site), "publish_at": date} | terms.fields()
    fields |= terms.byline(fields["author_name"]) | _ours(custom)
    notes = [*body.notes, *filter(None, [date_note]), *terms.notes(), *_notes(post, custom, element, site)]
    if not fields["title"]:
        fields["title"] = _title(body)
        notes.append(_("has no title; its first words become the headline"))
    return Record(place, fields, tuple(dict.fromkeys(notes)), former_ids=tuple(former_ids), is_clean=True)


def _body(post: dict[str, str], custom: dict[str, str], site: Site) -> Body:
    return render(
        Post(
            post.get("wp:post_id", ""),
            post.get("content:encoded", ""),
            site.address,
            site.library,
            custom.get(FEATURED, ""),
            custom.get(FOOTNOTES, ""),
        )
    )


def _fields(post: dict[str, str], body: Body, site: Site) -> dict[str, object]:
    login = post.get("dc:creator", "")
    email, shown = site.users.get(login, Author("", ""))
    return {
        "title": plain(post.get("title", "")),
        "slug": unquote(post.get("wp:post_name", "")),
        "summary": plain(post.get("excerpt:encoded", "")),
        "body": body.html,
        "body_format": "html",
        "status": PRIVATE if post.get("wp:post_password") else post.get("wp:status", "draft"),
        "text_changed_at": _changed_at(post),
        "author": email or login,
        "author_name": shown or login,
    }


def _title(body: Body) -> str:
    words = " ".join(plain_text(body.html).split())
    return Truncator(words).chars(min(_UNTITLED_LENGTH, TITLE)) or _("Untitled")


def _date(post: dict[str, str]) -> tuple[str | None, str]:
    """The date with an offset, and a note: in UTC, else `pubDate`, else local; an invalid one is left unchanged."""
    stamp, published = post.get("wp:post_date_gmt", ""), post.get("pubDate", "")
    if not is_missing(stamp):
        return f"{stamp}+00:00", ""
    if not is_missing(published):
        try:
            found = parse_time("pubDate", published)
        except Refused:
            return published, ""
        return found.moment.isoformat(), found.note
    local = in_our_zone(post.get("wp:post_date", ""))
    return (local.moment.isoformat(), local.note) if local else (None, "")


def _changed_at(post: dict[str, str]) -> str | None:
    """When the text last changed for readers, which is not before its publication."""
    changed = max(post.get("wp:post_modified_gmt") or NO_DATE, post.get("wp:post_date_gmt") or NO_DATE)
    return None if is_missing(changed) else clear_or_none(f"{changed}+00:00")


class _Terms:
    """The categories, tags and other terms of a post."""

    def __init__(self, element: Element, site: Site) -> None:
        self._site = site
        found = [(term.get("domain", ""), unquote(term.get("nicename", "")), term) for term in element]
        terms = [(domain, slug, plain(term.text or "")) for domain, slug, term in found if term.tag == "category"]
        categories = [(slug, name) for domain, slug, name in terms if domain == "category"]
        self._categories = [(slug, name) for slug, name in categories if slug != "uncategorized"]
        self._tags = [name for domain, _slug, name in terms if domain == "post_tag"]
        self._authors = [name for domain, _slug, name in terms if domain == CO_AUTHORS and name]
        self._others = [
            (domain, name) for domain, _slug, name in terms if domain not in ("category", "post_tag", CO_AUTHORS)
        ]

    def byline(self, author: object) -> dict[str, object]:
        """Their names, if it has other or more authors than its user."""
        names = list(dict.fromkeys(self._authors))
        return {} if names in ([], [author]) else {"byline": Truncator(_(", ").join(names)).chars(BYLINE)}

    def fields(self) -> dict[str, object]:
        """The first category as the channel, the other ones and the tags."""
        tags = [self._full_name(*term) for term in self._categories[1:]] + self._tags
        if not self._categories:
            return {"channel": None, "tags": tags}
        slug, name = self._categories[0]
        described = self._site.categories.get(slug, Category(name))
        channel = {"channel": self._full_name(slug, name), "channel_slug": slug}
        return {**channel, "channel_description": described.description, "tags": tags}

    def _full_name(self, slug: str, name: str) -> str:
        """Its name, with the parent's name if several categories have the same."""
        parent = self._site.categories.get(self._site.categories.get(slug, Category(name)).parent)
        if parent is None or name.casefold() not in self._site.shared_names:
            return name
        return Truncator(f"{parent.name} / {name}").chars(CHANNEL)

    def notes(self) -> Iterator[str]:
        """Notes on what is not imported."""
        for slug, name in self._categories:
            parent = self._site.categories.get(self._site.categories.get(slug, Category(name)).parent)
            if parent is not None:
                names = {"name": name, "parent": parent.name}
                yield _("the category “%(name)s” has the parent “%(parent)s”; channels have no parents") % names
        for domain, name in self._others:
            if domain == "post_format":
                yield _("the post format (%(name)s) is skipped") % {"name": name}
            else:
                yield _("terms of “%(taxonomy)s” are skipped") % {"taxonomy": domain}


def _ours(custom: dict[str, str]) -> dict[str, object]:
    return {META[key]: value for key, value in custom.items() if key in META}


def _notes(post: dict[str, str], custom: dict[str, str], element: Element, site: Site) -> Iterator[str]:
    if post.get("wp:is_sticky") == "1":
        yield _("it is sticky; here lists are always ordered by time")
    if any(site.short(child.tag) == "wp:comment" for child in element):
        yield _("comments are skipped")
    for key in custom:
        if key not in (FEATURED, FOOTNOTES) and not _HOUSEKEEPING.fullmatch(key):
            yield _("the custom field “%(name)s” is skipped") % {"name": key}
