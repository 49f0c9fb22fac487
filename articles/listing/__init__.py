"""Filters of article lists and the signed keyset cursors that page through them."""

from articles.listing.cursor import Cursor as Cursor, cursor_of as cursor_of
from articles.listing.filters import (
    ArticleFilter as ArticleFilter,
    filter_by_slugs as filter_by_slugs,
    first_live as first_live,
    live_authors as live_authors,
    live_tags as live_tags,
)
from articles.listing.keyset import beyond as beyond
from articles.listing.signed_cursor import (
    InvalidCursor as InvalidCursor,
    decode_cursor as decode_cursor,
    encode_cursor as encode_cursor,
)
