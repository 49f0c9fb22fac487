"""Addresses of the site's articles in HTML: which articles it names, and how it looks while some are not live."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from urllib.parse import urlsplit

from django.conf import settings

from articles.addresses import page_address

_ANCHOR = re.compile(r'<a((?:\s+[\w-]+="[^"]*")*)\s*>|</a>')
"""The start or end of a link, as `clean_html` writes it."""

_NUMBER = re.compile("/[0-9]")
"""In the address of each article. Without one, an import need not load all URLs, and with them the admin."""

_HREF = re.compile(r'(\shref=")([^"]*)(")')


def article_ids(text: str) -> set[int]:
    """The ids in all addresses of articles, linked or not; such articles may not exist."""
    return {int(found["pk"]) for found in _addresses().finditer(text)}


def linked_article(address: str) -> int | None:
    """The id in an article's address on this site; None for any other address."""
    found = _addresses().match(address)
    return int(found["pk"]) if found else None


def with_live_links(html: str, live: Mapping[int, str]) -> str:
    """Sanitised `html` in which links to articles lead to their present address, and others than `live` ones are text.

    `live` has the addresses by id. An address that is itself in the text or in another attribute, which may spell the
    headline of the article, becomes an ellipsis.
    """
    if not _addresses().search(html):
        return html
    is_kept: list[bool] = []  # of the open links; HTML nests none, but that is the parser's business

    def tag(found: re.Match[str]) -> str:
        if found[0] == "</a>":
            return found[0] if not is_kept or is_kept.pop() else ""
        shown = _link(found, live)
        is_kept.append(bool(shown))
        return shown

    return _addresses().sub(lambda found: found[0] if int(found["pk"]) in live else "…", _ANCHOR.sub(tag, html))


def without_addresses(text: str) -> str:
    """Plain text with an ellipsis for each address of an article."""
    return _addresses().sub("…", text) if _NUMBER.search(text) else text


def _link(tag: re.Match[str], live: Mapping[int, str]) -> str:
    """The start of a link as readers get it; empty if it leads to an article that is not live."""
    href = _HREF.search(tag[1])
    found = _addresses().match(unescape(href[2])) if href else None
    if href is None or found is None:
        return tag[0]
    if (address := live.get(int(found["pk"]))) is None:
        return ""
    place = re.sub(r"^[^?#]*", "", href[2])  # a query and a fragment stay
    return tag[0].replace(href[0], f"{href[1]}{found['site']}{address}{place}{href[3]}")


def _addresses() -> re.Pattern[str]:
    path = page_address("article-by-id", pk=0).removesuffix("0/")
    return _pattern(urlsplit(settings.SITE_URL).netloc, path)


@lru_cache(maxsize=10)
def _pattern(site: str, path: str) -> re.Pattern[str]:
    """Addresses of articles, with or without the site: those of another site are none."""
    here = rf"(?i:(?:https?:)?//{re.escape(site)}|\b{re.escape(site)})|(?<![\w./:%~-])"
    return re.compile(rf"(?P<site>{here}){re.escape(path)}(?P<pk>[0-9]{{1,18}})(?![0-9])(?:[/?#][^\s\"'<>(),]*)?")
