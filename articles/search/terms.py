"""Search terms, made the same way from texts and from queries.

In languages with spaces each word gives a term: its stem ("bridge" for "bridges") without accents. In Chinese,
Japanese and Korean each pair of neighbouring characters gives a term, so a query matches at any position; the last
character of a run is a term too, so that a single character can be found as a prefix of terms. Traditional characters
match simplified ones.

Terms are ASCII, so that they do not depend on a database's rules for letters, words and stop words; MariaDB has no
parser for Chinese.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import groupby, pairwise

from snowballstemmer.english_stemmer import EnglishStemmer

from articles.limits import MOST_WORDS
from articles.text import is_narrow, normalise

_MAX_LENGTH = 60  # of a term; InnoDB does not index terms longer than 84
_HIDDEN = "".join(char for char in map(chr, range(0x10000)) if unicodedata.category(char) in ("Cf", "Mn", "Me"))
"""Soft hyphens, joiners, vowel marks: they are within words, not between them."""

_RUN = re.compile(
    r"(?<![^\W_])(?:"
    r"(?P<initials>(?:[A-Za-z]\.)+[A-Za-z](?![^\W_])\.?)"
    r"|(?P<number>[0-9]{1,3}(?:[,.'’\u00a0\u202f][0-9]{3})+(?![^\W_]))"
    r"|(?P<hyphen>[A-Za-z]{1,2}[-\u2010\u2011][A-Za-z]{2,}(?![^\W_]))"
    rf")|[^\W_](?:[{re.escape(_HIDDEN)}]*[^\W_])*"
)
"""A word or run; U.S., 10,000 and e-mail are one word each, as US, 10000 and email."""

_BETWEEN_LETTERS = "[\u00ad\u200b-\u200f\u2060\ufeff\u064b-\u0652.\u2010\u2011-]?"
_BETWEEN_DIGITS = "[\u00ad\u200b-\u200f\u2060\ufeff,.'’\u00a0\u202f]?"
_SHORT = 4

_LONGEST_CACHED = 20
"""Characters of a run whose terms are cached for other texts: longer ones are rarely found again."""

_COMMON = frozenset("a an and are as at be by for from in is it of on or that the this to was with".split())  # noqa: SIM905
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

_stemmer = EnglishStemmer()
_stemming = threading.Lock()  # a stemmer is not thread-safe


@dataclass(frozen=True, slots=True)
class SearchPiece:
    """A word, or a run of characters without word boundaries; `begins` are their positions in the text."""

    plain: str
    begins: range | tuple[int, ...]
    end: int
    parts: tuple[str, ...] = ()  #: of a word with a hyphen

    @property
    def is_word(self) -> bool:
        """Whether it is a word."""
        return is_narrow(self.plain[0])

    @property
    def is_common(self) -> bool:
        """Whether it is a stop word."""
        return self.plain in _COMMON


def composed(text: str) -> str:
    """`text` in Unicode normal form C, which `pieces` requires."""
    return unicodedata.normalize("NFC", text)


def pieces(text: str) -> Iterator[SearchPiece]:
    """The words and runs of a composed text, in order."""
    for run in _RUN.finditer(text):
        yield from _pieces(run[0], run.lastgroup, run.start())


def _pieces(found: str, group: str | None, begin: int) -> Iterator[SearchPiece]:
    """Those of what `_RUN` has found at `begin`, by the name of its group."""
    end = begin + len(found)
    if group:
        begins = tuple(begin + place for place, char in enumerate(found) if char.isalnum())
        parts = tuple(re.split(r"\W", found.lower())) if group == "hyphen" else ()
        yield SearchPiece("".join(char for char in found.lower() if char.isalnum()), begins, end, parts)
    elif found.isascii():
        yield SearchPiece(found.lower(), range(begin, end), end)
    else:
        yield from _parts(found, begin)


def _parts(run: str, begin: int) -> Iterator[SearchPiece]:
    """Split adjacent words and runs, as in 5G手机."""
    found = normalise(run)
    for _narrow, group in groupby(range(len(found.plain)), key=lambda index: is_narrow(found.plain[index])):
        indexes = list(group)
        first, last = indexes[0], indexes[-1]
        end = found.places[last + 1] if last + 1 < len(found.plain) else len(run)
        begins = tuple(begin + place for place in found.places[first : last + 1])
        yield SearchPiece(found.plain[first : last + 1], begins, begin + end)


def however_written(word: str) -> str:
    """A regular expression of databases and Python for texts that are not indexed: `word` with what may be within it.

    That is, hidden characters, separators of digits, the points of initials and a hyphen; "" if it has no letters.
    """
    letters = normalise(word[:_MAX_LENGTH]).plain
    if len(letters) < 2:  # noqa: PLR2004 (nothing is between)
        return ""
    between = _BETWEEN_DIGITS if letters.isdecimal() else _BETWEEN_LETTERS
    edge = r"\b" if letters.isascii() and len(letters) < _SHORT else ""  # or "us" would be in "bus"
    return f"{edge}{between.join(letters)}{edge}"


def index_terms(text: str) -> str:
    """All terms of `text`, each once, separated by spaces."""
    terms: dict[str, None] = {}
    for run in dict.fromkeys((run[0], run.lastgroup) for run in _RUN.finditer(composed(text))):
        terms |= dict.fromkeys(_terms_of_word(*run) if len(run[0]) <= _LONGEST_CACHED else _terms_of_run(*run))
    return " ".join(terms)


def _terms_of_run(run: str, group: str | None) -> tuple[str, ...]:
    """The terms of what `_RUN` has found, by the name of its group."""
    found = list(_pieces(run, group, 0))
    return tuple(
        term
        for piece in found
        for term in (*_terms(piece), *(word(part) for part in piece.parts if part not in _COMMON))
    )


_terms_of_word = lru_cache(maxsize=20_000)(_terms_of_run)  # as those of `word`


def _terms(piece: SearchPiece) -> Iterator[str]:
    if not piece.is_word:
        yield from map(pair, pairwise(piece.plain))
        yield single(piece.plain[-1])
    elif not piece.is_common:
        yield word(piece.plain)


@lru_cache(maxsize=20_000)  # the usual words of a newsroom; 200,000 take 30 MB
def word(plain: str) -> str:
    """The term of a word; at least three characters long, since InnoDB does not index shorter ones."""
    stem = _stem(plain) if plain.isascii() and plain.isalpha() else plain
    return (
        "q"
        + "".join(char if char.isascii() else _sign(char) for char in stem[:_MAX_LENGTH]).rjust(2, "q")[:_MAX_LENGTH]
    )


def pair(chars: tuple[str, str]) -> str:
    """The term of two neighbouring characters."""
    return f"x{_sign(chars[0])}{_sign(chars[1])}"


def single(char: str) -> str:
    """The term of the last character of a run, which is a prefix of the pairs that begin with it."""
    return f"x{_sign(char)}"


def _stem(plain: str) -> str:
    with _stemming:
        return str(_stemmer.stemWord(plain))


@lru_cache(maxsize=100_000)
def _sign(char: str) -> str:
    """Four ASCII letters or digits for any character."""
    number, digits = ord(char), ""
    for _ in range(4):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


@dataclass(frozen=True)
class Query:
    """A reader's search text and its terms."""

    text: str

    @cached_property
    def pieces(self) -> tuple[SearchPiece, ...]:
        """Its words and runs."""
        return tuple(pieces(composed(self.text)))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The terms that an article must have; empty if the query has no words."""
        return tuple(dict.fromkeys(term for piece in self.pieces for term in self._wanted(piece)))[:MOST_WORDS]

    @staticmethod
    def _wanted(piece: SearchPiece) -> Iterator[str]:
        if piece.is_word or len(piece.plain) == 1:
            yield from _terms(piece) if piece.is_word else [f"{single(piece.plain)}*"]
        else:
            yield from map(pair, pairwise(piece.plain))
