"""Search result highlights and snippets, as HTML in which all text is escaped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from articles.models import Article
from articles.search.terms import Query, SearchPiece, composed, pieces, word
from articles.text import plain_text, remembered, without_addresses

BEFORE, LENGTH = 60, 220
"""Characters of a snippet before the first match, and in total."""

Span = tuple[int, int]

_plain = remembered(plain_text)


def highlighted(text: str, query: Query) -> SafeString:
    """`text` with the query's words in `<mark>`."""
    text, marked, last = composed(text), "", 0
    for begin, end in _merged(_spans(text, query)):
        marked += f"{escape(text[last:begin])}<mark>{escape(text[begin:end])}</mark>"
        last = end
    return mark_safe(marked + escape(text[last:]))  # noqa: S308 (all of it was escaped)


def snippet(article: Article, query: Query) -> SafeString:
    """The part around the first match in the summary or the body; the beginning if neither matches."""
    summary, body = composed(article.summary), composed(" ".join(without_addresses(_plain(article.body)).split()))
    for text in (summary, body):
        if (span := next(_spans(text, query), None)) is not None:
            return _around(text, span[0], query)
    return _around(summary or body, 0, query)


def _around(text: str, position: int, query: Query) -> SafeString:
    begin = max(position - BEFORE, 0)
    if begin and " " in text[begin:position]:
        begin = text.index(" ", begin) + 1  # not in the middle of a word
    end = begin + LENGTH
    before, after = "…" * (begin > 0), "…" * (end < len(text))
    return format_html("{}{}{}", before, highlighted(text[begin:end], query), after)


def _spans(text: str, query: Query) -> Iterator[Span]:
    """Where `text`, which must be composed, contains words or character pairs of the query."""
    words = {word(piece.plain) for piece in query.pieces if piece.is_word and not piece.is_common}
    runs = [piece.plain for piece in query.pieces if not piece.is_word]
    singles = {run for run in runs if len(run) == 1}
    pairs = {pair for run in runs for pair in pairwise(run)}
    for piece in pieces(text):
        if piece.is_word:
            if word(piece.plain) in words:
                yield piece.begins[0], piece.end
        else:
            yield from _spans_of_run(piece, singles, pairs)


def _spans_of_run(piece: SearchPiece, singles: set[str], pairs: set[tuple[str, str]]) -> Iterator[Span]:
    ends = (*piece.begins[1:], piece.end)
    for index, char in enumerate(piece.plain):
        if char in singles:
            yield piece.begins[index], ends[index]
        if tuple(piece.plain[index : index + 2]) in pairs:
            yield piece.begins[index], ends[index + 1]


def _merged(spans: Iterator[Span]) -> list[Span]:
    """Sorted spans with overlapping and adjacent ones merged."""
    merged: list[Span] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((begin, end))
    return merged
