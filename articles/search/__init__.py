"""Full-text search of live articles, with MariaDB's and MySQL's FULLTEXT or SQLite's FTS5."""

from articles.search.highlight import highlighted, snippet
from articles.search.indexing import index, index_stored, reconcile_index, reindex
from articles.search.query import RANKED, Found, find, find_texts
from articles.search.terms import Query, however_written

__all__ = [
    "Found",
    "Query",
    "RANKED",
    "find",
    "find_texts",
    "however_written",
    "highlighted",
    "index",
    "index_stored",
    "reconcile_index",
    "reindex",
    "snippet",
]
