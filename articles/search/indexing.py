"""Keeping the index true: an article has an entry while its text is approved, and it is that of the present text."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, Subquery

from articles.models import Article, SearchEntry, rows_changed
from articles.search.terms import index_terms
from articles.text import plain_text
from scheduling.services import delete_by_ids, lock_by_ids, read_database_clock, retried

RECONCILE_WINDOW = timedelta(minutes=15)
"""How far back `mend_index` looks for articles that were changed."""

GOING_LIVE = timedelta(seconds=3)
"""Around its second an article is left to the next pass."""

_PAGE = 200  # articles whose texts are in memory at once
_PORTION = 4_000_000  # characters of entries in one statement; the longest text takes ten million by itself
_FORM = "1"  # another one makes every digest another: raise it when terms are made in another way
_TEXT = ("title", "summary", "byline", "body")

INDEXED = Q(status__in=Article.Status.passed())
"""What has an entry: its text was approved, and is not killed."""


def index(article_ids: Collection[int]) -> int:
    """Make the entries of these articles what they should be, from what is stored; returns how many were not.

    Belongs into the transaction that wrote or locked the articles. A text that is indexed already is not looked at
    again.
    """
    with transaction.atomic():
        return sum(len(_index(page)) for page in _pages(article_ids))


def reconcile_index() -> int:
    """Find what was changed lately by a way around `Article.save()`, and index it; returns how much was wrong."""
    since = read_database_clock() - RECONCILE_WINDOW
    changed = Article.objects.filter(updated_at__gte=since).order_by()
    unseen = changed.filter(INDEXED & (Q(search__isnull=True) | ~Q(search__seen=F("updated_at"))))
    needless = changed.filter(~INDEXED, search__isnull=False)
    ids = [*unseen.values_list("pk", flat=True), *needless.values_list("pk", flat=True)]
    return sum(_index_free(page) for page in _pages(ids))


def reindex() -> Iterator[tuple[int, int]]:
    """Compare every article with its entry, a page at a time; yields the last id of each page and how many were wrong.

    An article that somebody is saving is passed over: its own save indexes it.
    """
    last = 0
    while page := list(Article.objects.filter(pk__gt=last).order_by("pk").values_list("pk", flat=True)[:_PAGE]):
        last = page[-1]
        yield last, _index_free(page)
    orphans = SearchEntry.objects.filter(~Exists(Article.objects.filter(pk=OuterRef("article"))))
    gone = list(orphans.values_list("pk", flat=True))
    delete_by_ids(SearchEntry, gone)
    yield last, len(gone)


@retried
def _index_free(page: Collection[int]) -> int:
    """Index those that nobody holds and that do not go live at this moment: publishing must not wait for the index."""
    now = read_database_clock()
    going_live = Q(
        publish_at__gt=now - GOING_LIVE, publish_at__lt=now + GOING_LIVE, status__in=Article.Status.waiting()
    )
    others = Article.objects.filter(pk__in=page).exclude(going_live).values_list("pk", flat=True)
    changed = _index(list(lock_by_ids(Article, others, skip_locked=True).values_list("pk", flat=True)))
    if changed:
        rows_changed.send(Article, ids=frozenset(changed), fields=frozenset({"search"}))
    return len(changed)


def _index(page: Collection[int]) -> list[int]:
    """Make the entries of these right; returns the articles whose entries were not."""
    known = dict(SearchEntry.objects.filter(article__in=page).values_list("article", "digest"))
    if not known and not (page := _of_approved(page)):
        return []
    found = Article.objects.filter(INDEXED, pk__in=page).only("updated_at", *_TEXT)
    digests = {article.pk: _digest(article) for article in found}
    wrong = [article for article in found if known.get(article.pk) != digests[article.pk]]
    gone = known.keys() - digests.keys()
    changed = [*gone, *(article.pk for article in wrong)]
    delete_by_ids(SearchEntry, changed)
    for portion in _portions([_entry(article, digests[article.pk]) for article in wrong]):
        SearchEntry.objects.bulk_create(portion)
    _note_seen(digests.keys() - {article.pk for article in wrong})
    return changed


def _of_approved(page: Collection[int]) -> list[int]:
    """Most saves are of drafts, whose text need not be read."""
    return list(Article.objects.filter(INDEXED, pk__in=page).values_list("pk", flat=True))


def _note_seen(article_ids: Collection[int]) -> None:
    """These have been compared in their present version."""
    stamps = Article.objects.filter(pk=OuterRef("article")).values("updated_at")
    SearchEntry.objects.filter(article__in=article_ids).update(seen=Subquery(stamps))


def _entry(article: Article, digest: str) -> SearchEntry:
    whole = "\n".join((article.title, article.summary, article.byline, plain_text(article.body)))
    terms: dict[str, Any] = {"heading": index_terms(article.title), "whole": index_terms(whole)}
    return SearchEntry(article=article, digest=digest, seen=article.updated_at, **terms)


def _portions(entries: Sequence[SearchEntry]) -> Iterator[list[SearchEntry]]:
    """As many at once as fit into a statement, whose length MariaDB limits; at least one."""
    portion: list[SearchEntry] = []
    size = 0
    for entry in entries:
        size += len(entry.whole)
        if portion and size > _PORTION:
            yield portion
            portion, size = [], len(entry.whole)
        portion.append(entry)
    if portion:
        yield portion


def _digest(article: Article) -> str:
    text = "\0".join((_FORM, *(getattr(article, name) for name in _TEXT)))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _pages(article_ids: Collection[int]) -> Iterator[list[int]]:
    ordered = sorted(article_ids)
    return (ordered[start : start + _PAGE] for start in range(0, len(ordered), _PAGE))
