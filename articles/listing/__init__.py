"""Filters of article lists and the signed keyset cursor that pages through them."""

from articles.listing.cursor import Cursor, cursor_of
from articles.listing.filters import ArticleFilter, filter_by_slugs, first_live, live_authors, live_tags

__all__ = [
    "Cursor",
    "ArticleFilter",
    "cursor_of",
    "live_authors",
    "live_tags",
    "first_live",
    "filter_by_slugs",
]
