"""Import of Ghost exports, a JSON dump of its tables. Posts become articles; pages are skipped.

https://github.com/TryGhost/Ghost/blob/main/ghost/core/core/server/data/exporter/exporter.js writes it. Posts come
before the tags and users they refer to, so the file is read twice. Times are UTC. A post's first tag is the channel,
the others are tags; internal tags, which begin with "#", are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from html import escape
from pathlib import Path
from sys import intern
from typing import Any

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from articles.exchange.ghost_html import Rendered, render
from articles.exchange.json_stream import pieces
from articles.exchange.outside_times import clear_or_none, is_missing, parse_time
from articles.exchange.records import COUNTED, Kind, Record, Refused, Remark, Unreadable
from articles.exchange.validate import BYLINE, length_of
from articles.models import Article

Row = Mapping[str, Any]
Reference = tuple[int, str]
"""Sort order and id of a referenced row."""

TABLES = ("posts", "posts_meta", "posts_tags", "posts_authors", "tags", "users")
PATHS = {f"{start}data.{table}": table for start in ("db.item.", "") for table in TABLES}
"""The tables' paths; old exports are not wrapped in "db"."""

_WALKED = re.compile(r"|db|db\.item|(?:db\.item\.)?data|(?:db\.item\.)?data\.[^.]+")

SITE = "__GHOST_URL__"
"""The placeholder for the site's URL in an export."""

_SHARED = {"search_title": "meta_title", "social_title": "og_title", "social_summary": "og_description"}
"""Texts for search results and shared links, which old exports have in the post itself."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PRIVATE = "private"
STATUSES = {"sent": PRIVATE}
"""Import statuses of Ghost's statuses; "sent" posts were mailed to subscribers and never on the site."""


@dataclass
class Site:
    """The rows that posts refer to, by id."""

    tags: dict[str, Row] = field(default_factory=dict)
    users: dict[str, Row] = field(default_factory=dict)
    meta: dict[str, Row] = field(default_factory=dict)
    tags_of: dict[str, list[Reference]] = field(default_factory=dict)
    users_of: dict[str, list[Reference]] = field(default_factory=dict)

    def add(self, table: str, row: Row) -> None:
        """Add one row of any table except posts."""
        if table == "tags":
            self.tags[_id(row)] = _some(row, "name", "visibility")
        elif table == "users":
            self.users[_id(row)] = _some(row, "name", "email")
        elif table == "posts_meta":
            if meta := _some(row, "feature_image_alt", "feature_image_caption", "email_only", *_SHARED.values()):
                self.meta[_id(row, "post_id")] = meta
        elif table == "posts_tags":
            _refer(self.tags_of, row, "tag_id")
        elif table == "posts_authors":
            _refer(self.users_of, row, "author_id")

    def names_of_tags(self, post: Row) -> list[str]:
        """The names of the post's public tags, in order."""
        tags = [self.tags.get(pk, {}) for _order, pk in sorted(self.tags_of.get(_id(post), []), key=_sort_order)]
        public = [tag for tag in tags if tag.get("visibility", "public") == "public"]
        return [name for tag in public if (name := str(tag.get("name", ""))) and not name.startswith("#")]

    def authors(self, post: Row) -> list[Row]:
        """The post's authors, in order; old exports have one, in the post itself."""
        listed = sorted(self.users_of.get(_id(post), []), key=_sort_order) or [(0, _id(post, "author_id"))]
        return [self.users[pk] for _order, pk in listed if pk in self.users]


def read(path: Path, *, encoding: str, site: str = "", survey: bool = False) -> Iterator[Record | Remark]:
    """Yield a record for each post. JSON is UTF-8, so `encoding` is not used."""
    known = Site() if survey else _read_references(path)
    posts = (row for table, row in _rows(path) if table == "posts" and row is not None)
    for number, post in enumerate(posts, start=1):
        yield COUNTED if survey else _record(number, post, known, site)


def _read_references(path: Path) -> Site:
    site, has_posts = Site(), False
    for table, row in _rows(path):
        has_posts = has_posts or table == "posts"
        if row is not None and table != "posts":
            site.add(table, row)
    if not has_posts:
        raise Unreadable(_("The JSON file is not a Ghost export: it has no posts."))
    return site


def _rows(path: Path) -> Iterator[tuple[str, Row | None]]:
    """Yield each table with None at its start, then with each of its rows."""
    for place, found in pieces(path, lambda place: _WALKED.fullmatch(place) is not None):
        if place in PATHS and found is None:
            yield PATHS[place], None
        elif isinstance(found, dict) and place.removesuffix(".item") in PATHS:
            yield PATHS[place.removesuffix(".item")], found


def _record(number: int, post: Row, known: Site, site: str) -> Record | Remark:
    name = str(post.get("slug") or post.get("id")).encode(errors="replace").decode()[:200]
    place = _("post %(number)d (%(name)s)") % {"number": number, "name": name}
    kind = post.get("type") or ("page" if post.get("page") else "post")
    if kind != "post":
        return Remark(Kind.FOREIGN, place, "page" if kind == "page" else _("not a post"))
    try:
        body = _body(post, known.meta.get(_id(post), {}))
    except Refused as error:
        return Remark(Kind.FAILED, place, str(error))
    notes = [_("the content of a “%(card)s” card is skipped") % {"card": card} for card in body.left_out]
    if SITE in body.html and not site:
        notes.append(_("links to the old site have no host; set it with --site https://…"))
    html = body.html.replace(f"{SITE}/", f"{site}/").replace(SITE, site or "/")
    return Record(place, {**_fields(post, known), "body": html}, tuple(notes))


def _fields(post: Row, known: Site) -> dict[str, object]:
    tags, authors = known.names_of_tags(post), known.authors(post)
    names = [str(author.get("name") or "") for author in authors]
    first = authors[0] if authors else {}
    return {
        "external_id": f"ghost:{post.get('uuid') or '{}@{}'.format(post.get('id'), post.get('created_at'))}",
        "title": post.get("title"),
        "slug": post.get("slug"),
        "summary": post.get("custom_excerpt"),
        "body_format": "html",
        "status": _status(post, known.meta.get(_id(post), {})),
        "publish_at": _date(post),
        "text_changed_at": _optional(post.get("updated_at")),
        "author": first.get("email") or first.get("name"),
        "author_name": first.get("name"),
        "byline": Truncator(_(", ").join(names)).chars(BYLINE) if len(names) > 1 else "",
        "channel": tags[0] if tags else "",
        "tags": tags[1:],
        **_shared({**post, **known.meta.get(_id(post), {})}),
    }


def _shared(row: Row) -> dict[str, str]:
    """The texts for search results and shared links, cut where Ghost allows longer ones."""
    texts = {name: Truncator(str(row.get(theirs) or "")) for name, theirs in _SHARED.items()}
    return {name: text.chars(length_of(Article, name)) for name, text in texts.items()}


def _status(post: Row, meta: Row) -> str:
    """Posts for members, subscribers or mail only are private."""
    if (post.get("visibility") or "public") != "public" or meta.get("email_only"):
        return PRIVATE
    status = str(post.get("status") or "draft")
    return STATUSES.get(status, status)


def _date(post: Row) -> str | None:
    """Its time; published posts of old exports may have only that of their creation."""
    dates = [post.get("published_at"), post.get("created_at") if post.get("status") == "published" else None]
    return next((_moment(date) for date in dates if not _is_missing(date)), None)


def _moment(value: object) -> str:
    """ISO 8601 with an offset; old exports have milliseconds since 1970, or UTC times without an offset."""
    try:
        if isinstance(value, int | float) and value is not True:
            return (EPOCH + timedelta(milliseconds=value)).isoformat()
        if datetime.fromisoformat(str(value)).tzinfo:
            return str(value)
    except (OverflowError, ValueError):
        pass
    try:
        return parse_time("published_at", value, zone=UTC).moment.isoformat()
    except Refused:  # the message of its validation names the field
        return str(value)


def _optional(value: object) -> str | None:
    """A time that does not decide what readers see, or None if it is missing or unclear."""
    return None if _is_missing(value) else clear_or_none(_moment(value))


def _is_missing(value: object) -> bool:
    """Also for zero, which is no time of a post, and for false."""
    return value == 0 or is_missing(value)


def _body(post: Row, meta: Row) -> Rendered:
    """The feature image and the text. Ghost stores both the source and the rendered HTML."""
    body = Rendered(html) if (html := str(post.get("html") or "")) else render(post)
    address = str(post.get("feature_image") or post.get("image") or "")
    if not address or address in body.html:
        return body
    image = f'<img src="{escape(address)}" alt="{escape(str(meta.get("feature_image_alt") or ""))}">'
    caption = meta.get("feature_image_caption")
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    return Rendered(f"<figure>{image}{below}</figure>\n\n{body.html}", body.left_out)


def _refer(found: dict[str, list[Reference]], row: Row, name: str) -> None:
    order = row.get("sort_order")
    found.setdefault(_id(row, "post_id"), []).append((order if isinstance(order, int) else 0, _id(row, name)))


def _sort_order(reference: Reference) -> int:
    return reference[0]


def _id(row: Row, name: str = "id") -> str:
    """An id as an interned string; old exports have numbers."""
    return intern(str(row.get(name)))


def _some(row: Row, *names: str) -> Row:
    return {name: row[name] for name in names if row.get(name)}
