"""Maintenance of the search index: every approved article has one entry, made from its current text."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, F, OuterRef, Q, Subquery

from articles.models import LINES, Article, Revision, SearchEntry, rows_changed
from articles.search.terms import index_terms
from articles.text import plain_text, without_addresses
from scheduling.database import delete_by_ids, lock_by_ids, read_database_clock, retried

RECONCILE_WINDOW = timedelta(minutes=15)
"""How far back `reconcile_index` looks for changed articles."""

GOING_LIVE = timedelta(seconds=3)
"""Articles this close to their publication time are left to the next run."""

_PAGE = 200  # articles whose texts are in memory at once
_MAX_CHARACTERS = 4_000_000  # of entries in one statement, unless a single entry is longer
_TERMS_VERSION = (
    "3"  # part of every digest: raise it when the terms of a text change, so that everything is indexed again
)
_TEXT = (*LINES, "body")

INDEXED = Q(status__in=Article.Status.passed())
"""The articles that have an entry."""


def index(article_ids: Collection[int]) -> int:
    """Update the entries of these articles; returns how many were wrong.

    Call it in the transaction that wrote or locked the articles. Unchanged texts are not indexed again.
    """
    with transaction.atomic(savepoint=False):
        return sum(len(_index(page)) for page in _pages(article_ids))


def index_stored(stored: Article) -> None:
    """As `index` for one article, whose row was read in this transaction with its entry."""
    entry = getattr(stored, "search", None)
    with transaction.atomic(savepoint=False):
        found = [stored] if stored.status in Article.Status.passed() else []
        _write_entries(found, {stored.pk: entry.digest} if entry else {})


def reconcile_index() -> int:
    """Index recent changes that bypassed `Article.save()`; returns how many entries were wrong."""
    since = read_database_clock() - RECONCILE_WINDOW
    changed = Article.objects.filter(updated_at__gte=since).order_by()
    unseen = changed.filter(INDEXED & (Q(search__isnull=True) | ~Q(search__seen=F("updated_at"))))
    obsolete = changed.filter(~INDEXED, search__isnull=False)
    ids = [*unseen.values_list("pk", flat=True), *obsolete.values_list("pk", flat=True)]
    return sum(_index_unlocked(page) for page in _pages(ids))


def reindex() -> Iterator[tuple[int, int]]:
    """Check the entry of every article; yields the last id of each page of articles and how many entries were wrong.

    Articles locked by another transaction are skipped, since that transaction indexes them.
    """
    last = 0
    while page := list(Article.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:_PAGE]):
        last = page[-1]
        yield last, _index_unlocked(page)
    orphans = SearchEntry.objects.filter(~Exists(Article.objects.filter(pk=OuterRef("article"))))
    gone = list(orphans.values_list("pk", flat=True))
    delete_by_ids(SearchEntry, gone)
    yield last, len(gone)


@retried
def _index_unlocked(page: Collection[int]) -> int:
    """Index articles that are not locked and not about to go live, so that publishing never waits for the index."""
    now = read_database_clock()
    going_live = Q(
        goes_live_at__gt=now - GOING_LIVE, goes_live_at__lt=now + GOING_LIVE, status__in=Article.Status.waiting()
    )
    others = Article.objects.filter(pk__in=page).exclude(going_live).values_list("pk", flat=True)
    # Skipping locked ones: the transaction that holds an article indexes it itself.
    changed = _index(list(lock_by_ids(Article, others, skip_locked=True).values_list("pk", flat=True)))
    if changed:
        rows_changed.send(Article, ids=frozenset(changed), fields=frozenset({"search"}))
    return len(changed)


def _index(page: Collection[int]) -> list[int]:
    """Update the entries of these articles; returns the ids of articles whose entries were wrong."""
    known = dict(SearchEntry.objects.filter(article__in=page).values_list("article", "digest"))
    # Most saves are of drafts, which have no entry: one look at ids instead of reading texts.
    if not known and not (page := _of_approved(page)):
        return []
    found = Article.objects.filter(INDEXED, pk__in=page).only("updated_at", *_TEXT)
    return _write_entries(found, known)


def _write_entries(found: Iterable[Article], known: Mapping[int, str]) -> list[int]:
    """Bring the entries with the `known` digests in line with the articles `found`."""
    digests = {article.pk: _digest(article) for article in found}
    wrong = [article for article in found if known.get(article.pk) != digests[article.pk]]
    gone = known.keys() - digests.keys()
    changed = [*gone, *(article.pk for article in wrong)]
    delete_by_ids(SearchEntry, gone)
    for batch in _batches([_entry(article, digests[article.pk]) for article in wrong]):
        SearchEntry.objects.bulk_create(
            batch,
            # Insert or update: two transactions may index an article for the first time, and neither may fail.
            update_conflicts=True,
            update_fields=["heading", "whole", "digest", "seen"],
            unique_fields=["article"] if connection.features.supports_update_conflicts_with_target else None,
        )
    if unmarked := digests.keys() - {article.pk for article in wrong}:
        _mark_seen(unmarked)
    return changed


def _of_approved(page: Collection[int]) -> list[int]:
    """A shortcut, since most saves are of drafts."""
    return list(Article.objects.filter(INDEXED, pk__in=page).values_list("pk", flat=True))


def _mark_seen(article_ids: Collection[int]) -> None:
    """Record that the current versions of these articles have been checked."""
    stamps = Article.objects.filter(pk=OuterRef("article")).values("updated_at")
    SearchEntry.objects.filter(article__in=article_ids).update(seen=Subquery(stamps))


def terms_of(text: Article | Revision) -> tuple[str, str]:
    """The terms of a headline, and of the whole text."""
    whole = "\n".join([*(getattr(text, name) for name in LINES), without_addresses(plain_text(text.body))])
    return index_terms(text.title), index_terms(whole)


def _entry(article: Article, digest: str) -> SearchEntry:
    terms: dict[str, Any] = dict(zip(("heading", "whole"), terms_of(article), strict=True))
    # Without the article itself: the two would refer to each other and stay until the garbage is collected.
    return SearchEntry(article_id=article.pk, digest=digest, seen=article.updated_at, **terms)


def _batches(entries: Sequence[SearchEntry]) -> Iterator[list[SearchEntry]]:
    """Entries in batches that fit into a statement, whose length MariaDB limits; at least one in each."""
    batch: list[SearchEntry] = []
    size = 0
    for entry in entries:
        size += len(entry.whole)
        if batch and size > _MAX_CHARACTERS:
            yield batch
            batch, size = [], len(entry.whole)
        batch.append(entry)
    if batch:
        yield batch


def _digest(article: Article) -> str:
    text = "\0".join((_TERMS_VERSION, *(getattr(article, name) for name in _TEXT)))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _pages(article_ids: Collection[int]) -> Iterator[list[int]]:
    ordered = sorted(article_ids)
    return (ordered[start : start + _PAGE] for start in range(0, len(ordered), _PAGE))
