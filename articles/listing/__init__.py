"""Filters of article lists and the signed keyset cursor that pages through them."""

from articles.listing.cursor import Place, place_of
from articles.listing.filters import Part, live_authors, live_tags, nearest, part_named

__all__ = [
    "Part",
    "Place",
    "live_authors",
    "live_tags",
    "nearest",
    "part_named",
    "place_of",
]
