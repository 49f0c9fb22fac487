"""Finding articles by their words."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from django.db.models import Case, IntegerField, QuerySet, Value, When

from articles.models import Article, SearchEntry
from articles.search.terms import Query

RANKED = ("-rank", "-publish_at", "-id")
"""The order of what was found: all words in the headline, some of them, none; the newest first in each."""

Q = TypeVar("Q", bound="QuerySet[Article]")


def matching(articles: Q, query: Query) -> Q:
    """Those of `articles` that have every word of `query`, with their `rank`; without a word, all of an empty query
    and none of one that says nothing, such as "+-*".

    The index holds approved texts whose time has not come: who is not of the newsroom gets `live` articles alone.
    """
    if not query.terms:
        return (articles.none() if query.text.strip() else articles).annotate(rank=Value(0))
    in_heading = [
        When(search__heading__has_all=query.terms, then=2),
        When(search__heading__has_any=query.terms, then=1),
    ]
    # As a subquery, or MariaDB would begin with the articles and ask of each whether it has the words.
    found = articles.filter(pk__in=SearchEntry.objects.filter(whole__has_all=query.terms).values("article"))
    return found.annotate(rank=Case(*in_heading, default=0, output_field=IntegerField()))


def gather_bodies(articles: Collection[Article]) -> None:
    """Load the bodies that a list was found without, in one query: sorting thousands with theirs takes long."""
    bodies = dict(Article.objects.filter(pk__in=[article.pk for article in articles]).values_list("pk", "body"))
    for article in articles:
        article.body = bodies.get(article.pk, "")
