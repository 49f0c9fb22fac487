"""Filters of article lists and the signed keyset cursors that page through them."""

from articles.listing.cursor import Cursor as Cursor
from articles.listing.cursor import cursor_of as cursor_of
from articles.listing.filters import ArticleFilter as ArticleFilter
from articles.listing.filters import filter_by_slugs as filter_by_slugs
from articles.listing.filters import first_live as first_live
from articles.listing.filters import live_authors as live_authors
from articles.listing.filters import live_tags as live_tags
from articles.listing.keyset import beyond as beyond
from articles.listing.signed_cursor import InvalidCursor as InvalidCursor
from articles.listing.signed_cursor import decode_cursor as decode_cursor
from articles.listing.signed_cursor import encode_cursor as encode_cursor
