"""Search queries over live articles.

A full-text index returns all articles with a word, in no order of time, which is fast for rare words. For words that
are in one of a hundred articles it is faster to scan the newest articles until there are enough matches. A sample of
the index decides which way to take; both give the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Value, When

from articles.listing import ArticleFilter, Cursor, cursor_of, first_live
from articles.models import GOES_LIVE_COLUMNS, ArticleQuerySet, SearchEntry, due_changes
from articles.search.terms import Query
from scheduling.database import in_any

RANKED = ("-rank", "-goes_live_at", "-id")
"""The order of results: all words in the headline, some of them, none; within each the newest first."""

WINDOW = 100
"""Results that are found and ranked together; the next window starts at a cursor after the oldest of them."""

_SMALL_INDEX = 5_000  # entries up to which the index is always fast
_BLOCKS, _BLOCK_SIZE = 32, 32  # of the sample
_MAX_SCAN = 60_000  # entries; if more would be needed, the index is used
_INDEX_COST = 4  # of finding one entry by the index, relative to scanning one
_MARGIN = 1.3  # by which a scan is longer than the sample suggests


@dataclass(frozen=True)
class Found:
    """A window of results with their `rank`, and the cursor of the next window if there are older results."""

    articles: ArticleQuerySet
    beyond: Cursor | None = None


@dataclass(frozen=True)
class Frequencies:
    """Estimates from a sample: the share of entries that have all terms, and the number of entries with each."""

    together: float
    entries: dict[str, float]

    def rarest(self) -> list[str]:
        """The terms with the fewest entries."""
        fewest = min(self.entries.values())
        return [term for term, count in self.entries.items() if count == fewest]

    def scan_lengths(self) -> list[int]:
        """How many entries to scan for a window, and how many on a second try; empty if the index is faster."""
        length = int(_MARGIN * WINDOW / self.together) if self.together else _MAX_SCAN
        is_faster = length < _MAX_SCAN and length < _INDEX_COST * min(self.entries.values())
        return [length, 2 * length] if is_faster else []


def find(chosen: ArticleFilter, query: Query) -> Found:
    """The newest live articles that match the filter and contain every word of `query`.

    An empty query finds all of them, one without words such as "+-*" none. The index also holds approved articles that
    are not live yet; they are neither found nor counted.
    """
    newest = [] if query.text.strip() or query.terms else _newest(chosen)
    cursors = _newest_with(chosen, query.terms) if query.terms else newest
    found = chosen.live().filter(pk__in=[cursor.pk for cursor in cursors[:WINDOW]])
    beyond = cursors[WINDOW - 1] if len(cursors) > WINDOW else None
    return Found(found.annotate(rank=_rank(query.terms)).order_by(*RANKED), beyond)


def find_texts(text: str, latest: QuerySet[Any], *, limit: int) -> QuerySet[Any]:
    """Keys of approved articles whose text has all words of `text`: at most `limit`, found by the index.

    For words that are too frequent for that, those of the `latest` articles (ids in a limited query).
    """
    terms = Query(text).terms
    if not terms:
        found = SearchEntry.objects.filter(pk=0)
    elif min(_sample_frequencies(terms).entries.values()) <= limit:
        found = SearchEntry.objects.filter(whole__has_all=terms)
    else:
        found = SearchEntry.objects.filter(pk__in=in_any(latest), whole__reads_all=terms)
    return found.values("pk")[:limit]


def _rank(terms: tuple[str, ...]) -> Case | Value:
    if not terms:
        return Value(0)
    headings = {pk: heading for pk, (heading, _whole) in due_changes().terms.items()}
    due = [(2, _having(terms, headings, all)), (1, _having(terms, headings, any)), (0, list(headings))]
    whens = [When(pk__in=ids, then=rank) for rank, ids in due if ids]
    whens += [When(search__heading__reads_all=terms, then=2), When(search__heading__reads_any=terms, then=1)]
    return Case(*whens, default=0, output_field=IntegerField())


def _having(terms: Collection[str], texts: Mapping[int, str], some: Callable[[Iterable[bool]], bool]) -> list[int]:
    """Those of these texts, which the index does not have yet, with all or any of the terms."""
    wanted = [f" {term} ".replace("* ", "") for term in terms]
    return [pk for pk, text in texts.items() if some(term in f" {text} " for term in wanted)]


def _with_terms(terms: Collection[str], indexed: QuerySet[SearchEntry]) -> Q:
    """Articles whose entry was found in the index, and those whose text is due and not in the index yet."""
    texts = {pk: whole for pk, (_heading, whole) in due_changes().terms.items()}
    if not texts:
        return Q(pk__in=indexed.values("article"))
    return Q(pk__in=indexed.exclude(pk__in=texts).values("article")) | Q(pk__in=_having(terms, texts, all))


def _newest(chosen: ArticleFilter) -> list[Cursor]:
    live = chosen.live().only(*GOES_LIVE_COLUMNS)
    return [cursor_of(article) for article in first_live(live, chosen.candidates(), WINDOW + 1)]


def _newest_with(chosen: ArticleFilter, terms: tuple[str, ...]) -> list[Cursor]:
    """Cursors of the newest live articles with all `terms`, one more than a window has."""
    frequencies = _sample_frequencies(terms)
    for length in frequencies.scan_lengths():
        if due_changes().terms:  # they are in no entry that could be read
            break
        candidates = chosen.candidates().values("pk")[:length]
        read = SearchEntry.objects.filter(pk__in=in_any(candidates), whole__reads_all=terms).values("pk")[:length]
        # Words first, on the entries alone: articles with their texts are read for those that match.
        cursors = _cursors(chosen.live().filter(pk__in=in_any(read)))
        if len(cursors) > WINDOW or candidates.count() < length:
            return cursors
    indexed = frequencies.rarest()
    entries = SearchEntry.objects.filter(whole__has_all=indexed)
    if others := [term for term in terms if term not in indexed]:
        entries = entries.filter(whole__reads_all=others)
    # As a subquery, or MariaDB would start from the articles and check the words of each.
    return _cursors(chosen.live().filter(_with_terms(terms, entries)))


def _cursors(live: ArticleQuerySet) -> list[Cursor]:
    return [cursor_of(article) for article in live.only(*GOES_LIVE_COLUMNS)[: WINDOW + 1]]


def _sample_frequencies(terms: tuple[str, ...]) -> Frequencies:
    largest = SearchEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    # The size by the largest id: counting all entries would take longer than the search.
    if largest < _SMALL_INDEX:
        return Frequencies(0, dict.fromkeys(terms, 0))
    counts = {f"term{number}": _count_with([term]) for number, term in enumerate(terms)}
    found = _sample(largest).aggregate(together=_count_with(terms), read=Count("pk"), **counts)
    share = min(_BLOCKS * _BLOCK_SIZE / largest, 1)  # of all ids
    if found["read"] <= share * _SMALL_INDEX:  # the ids are sparse, so the index is small
        return Frequencies(0, dict.fromkeys(terms, 0))
    entries = {term: found[f"term{number}"] / share for number, term in enumerate(terms)}
    return Frequencies(found["together"] / found["read"], entries)


def _sample(largest: int) -> QuerySet[SearchEntry]:
    """Evenly spaced blocks of neighbouring entries."""
    begins = range(1, largest, largest // _BLOCKS)
    return SearchEntry.objects.filter(reduce(or_, (Q(pk__gte=begin, pk__lt=begin + _BLOCK_SIZE) for begin in begins)))


def _count_with(terms: Collection[str]) -> Count:
    return Count("pk", filter=Q(whole__reads_all=terms))
