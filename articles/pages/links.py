"""Links from texts to articles: readers get those to live articles alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from articles.addresses import page_address
from articles.cache import NEWS, article_tag
from articles.models import Article
from articles.text import article_ids
from scheduling.database import database_now


@dataclass(frozen=True)
class Links:
    """The present addresses of the live articles that texts name, by id, and whether they name others."""

    live: Mapping[int, str] = field(default_factory=dict)
    has_others: bool = False

    @property
    def tags(self) -> list[str]:
        """The cache tags of a response with these texts.

        Of the articles that are not live it says nothing, not even their ids: any news invalidates it.
        """
        return [*map(article_tag, self.live), *([NEWS] if self.has_others else [])]


def links_in(bodies: Iterable[str]) -> Links:
    """The links of these texts at the database's `now`, in one statement; without links there is none."""
    ids = {pk for body in bodies for pk in article_ids(body)}
    if not ids:
        return Links()
    slugs = Article.objects.live(database_now()).filter(pk__in=ids).values_list("pk", "slug")
    live = {pk: page_address("article", pk=pk, slug=slug or "-") for pk, slug in slugs}
    return Links(live, has_others=len(live) < len(ids))
