"""Finding articles by their words."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Case, IntegerField, QuerySet, Value, When

from articles.models import Article
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
    found = articles.filter(search__whole__has_all=query.terms)
    return found.annotate(rank=Case(*in_heading, default=0, output_field=IntegerField()))
