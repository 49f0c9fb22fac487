"""Feed formats: Django's generators for RSS and Atom, and one for JSON Feed 1.1."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

from django.utils.encoding import iri_to_uri
from django.utils.feedgenerator import Atom1Feed, Rss201rev2Feed, SyndicationFeed
from django.utils.xmlutils import SimplerXMLGenerator

from articles.text import whole_second

_EMPTY_SINCE = datetime(2000, 1, 1, tzinfo=UTC)
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def fit_for_xml(text: str) -> str:
    """`text` without the characters that XML cannot hold."""
    return _UNFIT.sub("", text)


class HubFeed(SyndicationFeed):
    """A feed that names its WebSub hub, and whose date is constant while it is empty."""

    def latest_post_date(self) -> datetime:
        """The newest date of an entry, or a constant if there is none."""
        return super().latest_post_date() if self.items else _EMPTY_SINCE


class Rss(HubFeed, Rss201rev2Feed):
    """RSS 2.0; its dates are whole seconds."""

    def add_item_elements(self, handler: SimplerXMLGenerator, item: dict[str, Any]) -> None:
        """Write an entry; its date is not before it is live."""
        super().add_item_elements(handler, {**item, "pubdate": whole_second(item["pubdate"])})

    def latest_post_date(self) -> datetime:
        """The newest date of an entry, which may be that of a change."""
        return whole_second(super().latest_post_date())

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        """Add the links to the hubs."""
        super().add_root_elements(handler)
        for hub in self.feed["hubs"]:
            handler.addQuickElement("atom:link", None, {"rel": "hub", "href": hub})


class Atom(HubFeed, Atom1Feed):
    """Atom 1.0."""

    def add_root_elements(self, handler: SimplerXMLGenerator) -> None:
        """Add the links to the hubs."""
        super().add_root_elements(handler)
        for hub in self.feed["hubs"]:
            handler.addQuickElement("link", None, {"rel": "hub", "href": hub})


class Json(HubFeed):
    """JSON Feed 1.1."""

    content_type = "application/feed+json"

    def write(self, outfile: Any, encoding: str) -> None:
        """Write the feed to the text file `outfile`."""
        feed = {
            "version": "https://jsonfeed.org/version/1.1",
            "title": self.feed["title"],
            "home_page_url": self.feed["link"],
            "feed_url": self.feed["feed_url"],
            "description": self.feed["description"],
            "language": self.feed["language"],
            "hubs": [{"type": "WebSub", "url": hub} for hub in self.feed["hubs"]],
            "items": [self._item(item) for item in self.items],
        }
        json.dump(
            {name: value for name, value in feed.items() if value or name == "items"}, outfile, ensure_ascii=False
        )

    def _item(self, item: dict[str, Any]) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "id": item["unique_id"],
            "url": iri_to_uri(item["link"]),
            "title": item["title"],
            "content_html": item["description"],
            "date_published": item["pubdate"].isoformat(),
            "date_modified": item["updateddate"].isoformat(),
            "tags": item["categories"],
        }
        if item["author_name"]:
            entry["authors"] = [{"name": item["author_name"]}]
        if item["enclosures"]:
            entry["image"] = item["enclosures"][0].url
        return entry


FORMS: dict[str, type[Rss | Atom | Json]] = {"rss": Rss, "atom": Atom, "json": Json}
"""By their name in URLs; the default, RSS, is not named there."""


def feed_path(path: str, form: str) -> str:
    """The path of a feed of the stream at `path`."""
    return f"{path}feed/" if form == "rss" else f"{path}feed/{form}/"
