"""The content of an article page: the article, related articles and JSON-LD."""

from articles.pages.article import (
    newest_number as newest_number,
    newest_text as newest_text,
    page_of_article as page_of_article,
    page_of_text as page_of_text,
    preview as preview,
    text_of_link as text_of_link,
    uncached as uncached,
)
from articles.pages.card import (
    byline as byline,
    card as card,
    epoch as epoch,
    front_card as front_card,
    timed as timed,
)
from articles.pages.json_ld import structured as structured
from articles.pages.links import Links as Links, links_in as links_in
