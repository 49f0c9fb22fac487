"""Filters of article lists and the signed keyset cursor that pages through them."""

from articles.listing.cursor import Cursor, cursor_of
from articles.listing.filters import Part, live_authors, live_tags, nearest, part_named

__all__ = [
    "Cursor",
    "Part",
    "cursor_of",
    "live_authors",
    "live_tags",
    "nearest",
    "part_named",
]
