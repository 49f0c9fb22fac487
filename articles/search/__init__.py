"""Full-text search in what readers may see: one interface over MariaDB, MySQL (FULLTEXT) and SQLite (FTS5)."""

from articles.search.finding import RANKED, gather_bodies, matching
from articles.search.highlighting import highlighted, snippet
from articles.search.indexing import index, mend_index, reindex
from articles.search.terms import Query

__all__ = ["RANKED", "Query", "gather_bodies", "highlighted", "index", "matching", "mend_index", "reindex", "snippet"]
