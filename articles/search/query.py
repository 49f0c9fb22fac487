"""Finding articles by their words.

A full-text index gives all that have a word, however many, in no order of time; that is quick for a word of which there
are few. What stands in one of a hundred articles is found sooner by reading the newest articles until there are enough.
Which way is shorter, a sample tells; both find the same.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce
from operator import or_

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When

from articles.listing import Cursor, Part, cursor_of, nearest
from articles.models import ArticleQuerySet, SearchEntry, in_any
from articles.search.terms import Query

RANKED = ("-rank", "-publish_at", "-id")
"""The order of what was found: all words in the headline, some of them, none; the newest first in each."""

WINDOW = 100
"""Articles that are found and ranked at once; older ones are found from the place on where these end."""

_FEW = 5_000  # entries of which the index finds any quickly
_BLOCKS, _BLOCK = 32, 32  # of the sample; entries of each
_WALK = 60_000  # entries that are read at most before the index is asked after all
_DEARER = 4  # times that finding one by the index costs what reading one does
_SPARE = 1.3  # how many more are read than the sample asks for


@dataclass(frozen=True)
class Found:
    """The newest articles that were found, with their `rank`, and where older ones begin if there are any."""

    articles: ArticleQuerySet
    beyond: Cursor | None = None


@dataclass(frozen=True)
class Spread:
    """How often terms stand in the index, by a sample: in what part of it all of them do, and each in how many."""

    together: float
    entries: dict[str, float]

    def scarcest(self) -> list[str]:
        """The terms that the fewest have."""
        fewest = min(self.entries.values())
        return [term for term, count in self.entries.items() if count == fewest]

    def walks(self) -> list[int]:
        """How many entries to read for a window, and how many if those are not enough; none if the index is quicker."""
        few = int(_SPARE * WINDOW / self.together) if self.together else _WALK
        is_shorter = few < _WALK and few < _DEARER * min(self.entries.values())
        return [few, 2 * few] if is_shorter else []


def find(part: Part, query: Query) -> Found:
    """The newest articles of `part` that readers may see and that have every word of `query`.

    Without a word, all of an empty query and none of one that says nothing, such as "+-*". The index holds approved
    texts whose time has not come; they are not live, and so neither found nor counted.
    """
    places = _newest_with(part, query.terms) if query.terms else _newest(part) if not query.text.strip() else []
    found = part.live().filter(pk__in=[place.pk for place in places[:WINDOW]])
    beyond = places[WINDOW - 1] if len(places) > WINDOW else None
    return Found(found.annotate(rank=_rank(query.terms)).order_by(*RANKED), beyond)


def _rank(terms: tuple[str, ...]) -> Case | Value:
    if not terms:
        return Value(0)
    whens = [When(search__heading__reads_all=terms, then=2), When(search__heading__reads_any=terms, then=1)]
    return Case(*whens, default=0, output_field=IntegerField())


def _newest(part: Part) -> list[Cursor]:
    return [cursor_of(article) for article in nearest(part.live().only("publish_at"), part.shelf(), WINDOW + 1)]


def _newest_with(part: Part, terms: tuple[str, ...]) -> list[Cursor]:
    """The newest live articles with all of `terms`, one more than a window shows."""
    spread = _sampled(terms)
    for few in spread.walks():
        shelf = part.shelf().values("pk")[:few]
        read = SearchEntry.objects.filter(pk__in=in_any(shelf), whole__reads_all=terms).values("pk")[:few]
        places = _places(part.live().filter(pk__in=in_any(read)))
        if len(places) > WINDOW or shelf.count() < few:
            return places
    indexed = spread.scarcest()
    entries = SearchEntry.objects.filter(whole__has_all=indexed)
    if others := [term for term in terms if term not in indexed]:
        entries = entries.filter(whole__reads_all=others)
    # As a subquery, or MariaDB would begin with the articles and ask of each whether it has the words.
    return _places(part.live().filter(pk__in=entries.values("article")))


def _places(live: ArticleQuerySet) -> list[Cursor]:
    return [cursor_of(article) for article in live.only("publish_at")[: WINDOW + 1]]


def _sampled(terms: tuple[str, ...]) -> Spread:
    largest = SearchEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    if largest < _FEW:
        return Spread(0, dict.fromkeys(terms, 0))
    counts = {f"term{number}": _having([term]) for number, term in enumerate(terms)}
    found = _sample(largest).aggregate(together=_having(terms), read=Count("pk"), **counts)
    part = min(_BLOCKS * _BLOCK / largest, 1)  # of all numbers, those looked at
    if found["read"] <= part * _FEW:  # most numbers up to the largest are nobody's
        return Spread(0, dict.fromkeys(terms, 0))
    entries = {term: found[f"term{number}"] / part for number, term in enumerate(terms)}
    return Spread(found["together"] / found["read"], entries)


def _sample(largest: int) -> QuerySet[SearchEntry]:
    """Some neighbours here and there, which are read quickly."""
    begins = range(1, largest, largest // _BLOCKS)
    return SearchEntry.objects.filter(reduce(or_, (Q(pk__gte=begin, pk__lt=begin + _BLOCK) for begin in begins)))


def _having(terms: Collection[str]) -> Count:
    return Count("pk", filter=Q(whole__reads_all=terms))
