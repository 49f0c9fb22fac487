"""WXR, the file that WordPress exports: posts become articles, everything else is left out.

https://github.com/WordPress/WordPress/blob/master/wp-admin/includes/export.php writes it. `post_date_gmt` is UTC;
a draft that never had a date has zeros there. A post's categories are its channel (the first that is not
"Uncategorized") and further tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from django.utils.translation import gettext as _

from articles.exchange.records import Kind, Record, Remark, Unreadable
from articles.exchange.safe_xml import events, plain

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element  # noqa: S405 (the type alone)

NO_DATE = "0000-00-00 00:00:00"
NO_PUB_DATE = "-0001"
"""The year that WordPress makes of it in `pubDate`, where Python reads 2000."""

THROWN_AWAY = {"trash", "auto-draft"}
META = {
    "_headline_byline": "byline",
    "_headline_embargo_until": "embargo_until",
    "_headline_unpublish_at": "unpublish_at",
}
"""Custom fields in which an export of ours keeps what WordPress has no word for; those with "_" it shows to nobody."""

NOT_FOR_ALL = "private"
"""WordPress's status of what only its editors may see; a post behind a password is treated likewise."""

_PREFIXES = {
    re.compile(r"\{http://wordpress\.org/export/[\d.]+/\}"): "wp:",
    re.compile(r"\{http://wordpress\.org/export/[\d.]+/excerpt/\}"): "excerpt:",
    re.compile(r"\{http://purl\.org/rss/1\.0/modules/content/\}"): "content:",
    re.compile(r"\{http://purl\.org/dc/elements/1\.1/\}"): "dc:",
}


@dataclass
class Site:
    """What the head of the file says that its posts need."""

    version: str = ""
    address: str = ""
    people: dict[str, tuple[str, str]] = field(default_factory=dict)
    """E-mail address and shown name by login name."""

    def learn(self, name: str, element: Element) -> None:
        """Take in one element of the head."""
        if name == "wp:wxr_version":
            self.version = element.text or ""
        elif name == "wp:base_blog_url":
            self.address = element.text or ""
        elif name == "wp:author":
            person = _children(element)
            shown = plain(person.get("wp:author_display_name", ""))
            self.people[person.get("wp:author_login", "")] = person.get("wp:author_email", ""), shown


def read(path: Path, *, encoding: str, site: str = "") -> Iterator[Record | Remark]:
    """Yield a record for each post. XML names its encoding itself, so `encoding` is not used."""
    number, channel = 0, None
    known = Site()
    for event, element in events(path):
        name = _short(element.tag)
        if event == "start":
            channel = element if name == "channel" and channel is None else channel
            continue
        if name == "item":
            number += 1
            yield _record(number, element, known)
            if channel is not None:
                channel.clear()  # or the whole file would pile up in memory
        else:
            known.learn(name, element)
    if not known.version:
        raise Unreadable(_("XML, but not an export of WordPress: it has no wp:wxr_version."))


def _record(number: int, element: Element, site: Site) -> Record | Remark:
    if not site.version:
        raise Unreadable(_("XML, but not an export of WordPress: it has no wp:wxr_version."))
    post = _children(element)
    place = _("item %(number)d (post %(post)s)") % {"number": number, "post": post.get("wp:post_id", "?")}
    kind = post.get("wp:post_type", "post")
    if kind != "post":
        return Remark(Kind.FOREIGN, place, kind)
    if post.get("wp:status") in THROWN_AWAY:
        return Remark(Kind.FOREIGN, place, _("discarded post"))
    return Record(place, _fields(post, element, site))


def _fields(post: dict[str, str], element: Element, site: Site) -> dict[str, object]:
    login = post.get("dc:creator", "")
    email, shown = site.people.get(login, ("", ""))
    channel, tags = _terms(element)
    return {
        "external_id": post.get("guid") or f"{site.address}?p={post.get('wp:post_id', '')}",
        "title": plain(post.get("title", "")),
        "slug": unquote(post.get("wp:post_name", "")),
        "summary": plain(post.get("excerpt:encoded", "")),
        "body": post.get("content:encoded", ""),
        "status": NOT_FOR_ALL if post.get("wp:post_password") else post.get("wp:status", "draft"),
        "publish_at": _date(post),
        "author": email or login,
        "author_name": shown or login,
        "channel": channel,
        "tags": tags,
        **_meta(element),
    }


def _date(post: dict[str, str]) -> str | None:
    """The date with its offset, or as it is when it cannot be one. Without the one in UTC there is still `pubDate`."""
    stamp = post.get("wp:post_date_gmt") or NO_DATE
    if stamp != NO_DATE:
        return f"{stamp}+00:00"
    published = post.get("pubDate", "")
    if not published or NO_PUB_DATE in published:
        return None
    try:
        return parsedate_to_datetime(published).isoformat()
    except ValueError:
        return published


def _terms(element: Element) -> tuple[str | None, list[str]]:
    found = element.findall("category")
    terms = [(term.get("domain"), term.get("nicename"), plain(term.text or "")) for term in found]
    categories = [name for domain, slug, name in terms if domain == "category" and slug != "uncategorized"]
    tags = [name for domain, slug, name in terms if domain == "post_tag"]
    return (categories[0] if categories else None), categories[1:] + tags


def _meta(element: Element) -> dict[str, str]:
    found = (_children(each) for each in element if _short(each.tag) == "wp:postmeta")
    pairs = ((each.get("wp:meta_key", ""), each.get("wp:meta_value", "")) for each in found)
    return {META[key]: value for key, value in pairs if key in META}


def _children(element: Element) -> dict[str, str]:
    return {_short(child.tag): child.text or "" for child in element}


@lru_cache(maxsize=512)
def _short(tag: str) -> str:
    for namespace, prefix in _PREFIXES.items():
        if namespace.match(tag):
            return namespace.sub(prefix, tag)
    return tag
