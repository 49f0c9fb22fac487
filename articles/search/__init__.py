"""Full-text search in what readers may see: one interface over MariaDB, MySQL (FULLTEXT) and SQLite (FTS5)."""

from articles.search.finding import RANKED, Found, find
from articles.search.highlighting import highlighted, snippet
from articles.search.indexing import index, mend_index, reindex
from articles.search.terms import Query

__all__ = [
    "RANKED", "Found", "Query", "find", "highlighted", "index", "mend_index", "reindex", "snippet",
]  # fmt: skip
