"""What a text is found by: its terms, made alike for the index and for what readers look for.

Languages that write words apart give a term for each word, without accents and in the stem that "bridge" and
"bridges" share. Chinese, Japanese and Korean do not: two neighbouring characters make a term, so that whatever is
looked for is found wherever it begins; the last character of a run is a term of its own, which lets a single
character be looked for by the beginning of terms. Traditional characters are found by simplified ones.

Terms are written in ASCII: then no database's idea of letters, words and stop words has a say.
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

from articles.text import is_narrow, normalise

MOST_TERMS = 20
"""Terms that are looked for; the rest of a longer query is not."""

_LONGEST = 60  # characters of a term; InnoDB leaves out what is longer than 84
_RUN = re.compile(r"[^\W_]+")
_COMMON = frozenset("a an and are as at be by for from in is it of on or that the this to was with".split())  # noqa: SIM905
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

_stemmer = EnglishStemmer()
_stemming = threading.Lock()  # a stemmer keeps notes while it works


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, or a run of characters that are not parted into words; `ends` are those of its characters in the text."""

    plain: str
    begins: range | tuple[int, ...]
    end: int

    @property
    def is_word(self) -> bool:
        """Whether it is a word."""
        return is_narrow(self.plain[0])

    @property
    def is_common(self) -> bool:
        """Whether it is a word that stands in every text and so says nothing."""
        return self.plain in _COMMON


def composed(text: str) -> str:
    """`text` with each letter and its accents in one character: the form that `pieces` wants."""
    return unicodedata.normalize("NFC", text)


def pieces(text: str) -> Iterator[Piece]:
    """The words and runs of a composed text, in their order."""
    for run in _RUN.finditer(text):
        begin, end, found = *run.span(), run.group()
        if found.isascii():
            yield Piece(found.lower(), range(begin, end), end)
        else:
            yield from _parts(found, begin)


def _parts(run: str, begin: int) -> Iterator[Piece]:
    """Words and runs of unparted characters that stand side by side, as in 5G手机."""
    found = normalise(run)
    for _narrow, group in groupby(range(len(found.plain)), key=lambda index: is_narrow(found.plain[index])):
        indexes = list(group)
        first, last = indexes[0], indexes[-1]
        end = found.places[last + 1] if last + 1 < len(found.plain) else len(run)
        begins = tuple(begin + place for place in found.places[first : last + 1])
        yield Piece(found.plain[first : last + 1], begins, begin + end)


def index_terms(text: str) -> str:
    """All terms of `text`, each once, as the index stores them."""
    return " ".join(dict.fromkeys(term for piece in pieces(composed(text)) for term in _terms(piece)))


def _terms(piece: Piece) -> Iterator[str]:
    if not piece.is_word:
        yield from map(pair, pairwise(piece.plain))
        yield single(piece.plain[-1])
    elif not piece.is_common:
        yield word(piece.plain)


@lru_cache(maxsize=200_000)
def word(plain: str) -> str:
    """The term of a word; at least three letters long, since InnoDB leaves out what is shorter."""
    stem = _stem(plain) if plain.isascii() and plain.isalpha() else plain
    return "q" + "".join(char if char.isascii() else _sign(char) for char in stem[:_LONGEST]).rjust(2, "q")[:_LONGEST]


def pair(chars: tuple[str, str]) -> str:
    """The term of two neighbouring characters."""
    return f"x{_sign(chars[0])}{_sign(chars[1])}"


def single(char: str) -> str:
    """The term of a character at the end of a run, and the beginning of all pairs that it begins."""
    return f"x{_sign(char)}"


def _stem(plain: str) -> str:
    with _stemming:
        return str(_stemmer.stemWord(plain))


@lru_cache(maxsize=100_000)
def _sign(char: str) -> str:
    """Four letters or digits for any character."""
    number, digits = ord(char), ""
    for _ in range(4):
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits


@dataclass(frozen=True)
class Query:
    """What a reader looks for."""

    text: str

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Its words and runs."""
        return tuple(pieces(composed(self.text)))

    @cached_property
    def terms(self) -> tuple[str, ...]:
        """The terms that an article must have, all of them; none if the query says nothing."""
        return tuple(dict.fromkeys(term for piece in self.pieces for term in self._wanted(piece)))[:MOST_TERMS]

    @staticmethod
    def _wanted(piece: Piece) -> Iterator[str]:
        if piece.is_word or len(piece.plain) == 1:
            yield from _terms(piece) if piece.is_word else [f"{single(piece.plain)}*"]
        else:
            yield from map(pair, pairwise(piece.plain))
