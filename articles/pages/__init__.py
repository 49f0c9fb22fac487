"""What a reader's article page shows: the article, related articles and JSON-LD."""

from articles.pages.article import (
    kept_nowhere,
    newest_number,
    newest_text,
    page_of_article,
    page_of_text,
    preview,
    text_of_link,
)
from articles.pages.json_ld import structured

__all__ = [
    "kept_nowhere",
    "newest_number",
    "newest_text",
    "page_of_article",
    "page_of_text",
    "preview",
    "structured",
    "text_of_link",
]
