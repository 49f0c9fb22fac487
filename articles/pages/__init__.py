"""The content of an article page: the article, related articles and JSON-LD."""

from articles.pages.article import (
    newest_number,
    newest_text,
    page_of_article,
    page_of_text,
    preview,
    text_of_link,
    uncached,
)
from articles.pages.card import byline, card, language_of, timed
from articles.pages.json_ld import structured
from articles.pages.links import Links, links_in

__all__ = [
    "Links",
    "byline",
    "card",
    "language_of",
    "links_in",
    "newest_number",
    "newest_text",
    "page_of_article",
    "page_of_text",
    "preview",
    "structured",
    "text_of_link",
    "timed",
    "uncached",
]
