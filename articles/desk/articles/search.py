"""Newsroom search: articles by their lines, authors, tags, numbers and bodies, within bounds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import reduce
from operator import and_
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL
from django.db.models.functions import Left

from articles.limits import MOST_WORDS
from articles.models import LINES, Article, Update, with_releases
from articles.search import find_texts, however_written
from articles.text import plain_text
from scheduling.database import COUNT_LIMIT, in_any

SEARCHED = 20_000
"""Most recently changed articles in which each search looks for any part of a word."""

BODIES = 1_000
"""Most recently changed texts that are not indexed, whose bodies are searched for any part of a word.

An index entry for each save of a draft would cost more.
"""

MOST_FOUND = 200
"""Articles found by such bodies alone."""

_BEST_OF = 40  # articles among which those with the words in their headline come first
_READ = 100_000  # characters of a body that are compared without its markup

_HEADLINES = ("title", "update__approved__title", "update__draft__title")
_NEWER = ("update__approved__title", "update__draft__title")


def matching(text: str, articles: QuerySet[Any]) -> RawSQL:
    """For `pk__in`: articles that contain each word of `text` in their lines, author name or tags, or in their body.

    Or the article with this number. Of `articles` that are more than `SEARCHED`, the most recently changed are read;
    others are found by the words of their approved texts.
    """
    words = text.split()[:MOST_WORDS]
    latest = articles.order_by("-updated_at", "-pk").values("pk")[:SEARCHED]
    lines = Article.objects.filter(reduce(and_, map(_in_lines, words), Q()), pk__in=in_any(latest)).values("pk")
    bodies = Article.objects.filter(pk__in=[0, *_unapproved(words, articles), *_updates(words)]).values("pk")
    return in_any(lines, find_texts(" ".join(words), latest, limit=COUNT_LIMIT), bodies, _numbered(words))


def best_matching(text: str, *, limit: int) -> list[Article]:
    """At most `limit` articles that match, without body and summary: those with all words in their headline first."""
    found = Article.objects.filter(pk__in=matching(text, Article.objects.all())).order_by("-updated_at", "-pk")
    rows = list(with_releases(found).select_related("channel").defer("body", "summary")[:_BEST_OF])
    words = text.split()[:MOST_WORDS]
    return sorted(rows, key=lambda article: not _has(article.title, words))[:limit]


def _numbered(words: list[str]) -> QuerySet[Any]:
    """The article with this number, if it is one."""
    number = words[0].lstrip("#") if words else ""
    is_number = len(words) == 1 and number.isdecimal() and len(number) < 19
    return Article.objects.filter(pk=int(number) if is_number else 0).values("pk")


def _in_lines(word: str) -> Q:
    tagged = Article.tags.through.objects.filter(tag__name__icontains=word).values("article")
    columns = (*LINES, "author__first_name", "author__last_name", "author__username", *_NEWER)
    found = Q(pk__in=tagged)
    for column in columns:
        found |= Q(**{f"{column}__icontains": word})
    if pattern := however_written(word):
        for column in _HEADLINES:
            found |= Q(**{f"{column}__iregex": pattern})
    return found


def _unapproved(words: list[str], articles: QuerySet[Any]) -> Iterator[int]:
    """Articles without an approved text, which the search index does not have."""
    unapproved = articles.filter(status__in=Article.Status.unapproved())
    latest = in_any(unapproved.order_by("-updated_at", "-pk").values("pk")[:BODIES])
    return _with_bodies(words, Article.objects.filter(pk__in=latest), "pk", "body")


def _updates(words: list[str]) -> Iterator[int]:
    """Articles by the newest text of their updates."""
    for name in ("draft", "approved"):
        latest = in_any(Update.objects.filter(**{f"{name}__isnull": False}).order_by("-pk").values("pk")[:BODIES])
        yield from _with_bodies(words, Update.objects.filter(pk__in=latest), "article", f"{name}__body")


def _with_bodies(words: list[str], rows: QuerySet[Any], key: str, body: str) -> Iterator[int]:
    """Keys of the rows whose body has each word, not counting its markup."""
    found = rows.filter(reduce(and_, (_in_body(word, body) for word in words), Q()))
    for pk, start in found.order_by("-pk").values_list(key, Left(body, _READ))[:MOST_FOUND]:
        if len(start) == _READ or _has(plain_text(start), words):
            yield pk


def _in_body(word: str, body: str) -> Q:
    pattern = however_written(word)
    return Q(**{f"{body}__icontains": word}) | (Q(**{f"{body}__iregex": pattern}) if pattern else Q())


def _has(text: str, words: list[str]) -> bool:
    folded = text.casefold()
    return all(word.casefold() in folded or _is_written(word, text) for word in words)


def _is_written(word: str, text: str) -> bool:
    pattern = however_written(word)
    return bool(pattern) and re.search(pattern, text, re.IGNORECASE) is not None
