"""Full-text search in what readers may see: one interface over MariaDB, MySQL (FULLTEXT) and SQLite (FTS5)."""

from articles.search.highlight import highlighted, snippet
from articles.search.indexing import index, reconcile_index, reindex
from articles.search.query import RANKED, Found, find
from articles.search.terms import Query

# fmt: skip


__all__ = [
    "Found",
    "Query",
    "RANKED",
    "find",
    "highlighted",
    "index",
    "reconcile_index",
    "reindex",
    "snippet",
]
