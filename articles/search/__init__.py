"""Full-text search of live articles, with MariaDB's and MySQL's FULLTEXT or SQLite's FTS5."""

from articles.search.highlight import highlighted as highlighted, snippet as snippet
from articles.search.indexing import (
    index as index,
    index_stored as index_stored,
    reconcile_index as reconcile_index,
    reindex as reindex,
    terms_of as terms_of,
)
from articles.search.query import RANKED as RANKED, Found as Found, find as find, find_texts as find_texts
from articles.search.terms import Query as Query, however_written as however_written
