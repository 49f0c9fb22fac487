"""Finding sensitive words, also in disguised spellings, without false positives.

The library's automaton finds every word's skeleton in one pass; what it finds is then judged against the plain forms,
the ends of the word and what stands between its letters. Rules and limits: docs/review.md.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

import ahocorasick

from articles.models import SensitiveWord, WordListVersion
from articles.text import NUMERALS, SYMBOLS, Normalised, is_narrow, normalise

_CLAUSE_ENDS = frozenset("，。；：！？、…—,;:!?“”‘’\"'（）()《》〈〉「」『』【】[]\n\r")
"""Separators between Chinese words in ordinary text; anything else between them, even a space, is a disguise."""

_LETTER_GAPS = frozenset(" \t\u00a0\u3000'’‘`´-‐‑‒–—.,:;!?/\\()[]\"“”&…\n\r")
"""Separators and joiners of words in scripts with spaces."""

_SENTENCE_ENDS = _CLAUSE_ENDS - set("—'’\"“”()（）\n\r") | {"."}
"""Characters that end a phrase of several words."""

_LONG_NUMBER = 7
"""The number of digits from which a number counts as a telephone or account number, however it is grouped."""


@dataclass(frozen=True, slots=True)
class WordEntry:
    """A word of the list in the forms that matching needs. `breaks`: where the word itself has a gap."""

    text: str
    level: str
    plain: str
    skeleton: str
    breaks: frozenset[int]

    @classmethod
    def of(cls, text: str, level: str) -> WordEntry:
        """Prepare a word."""
        form = normalise(text)
        breaks = frozenset(index for index in range(1, len(form.plain)) if form.gap(index))
        return cls(text, level, form.plain, form.skeleton, breaks)

    @property
    def is_narrow(self) -> bool:
        """Whether all of it is in scripts that put spaces between words."""
        return all(map(is_narrow, self.plain))

    @property
    def is_long_number(self) -> bool:
        """Whether it is a number long enough to be unique."""
        return self.plain.isdecimal() and len(self.plain) >= _LONG_NUMBER


@dataclass(frozen=True, slots=True)
class Match:
    """A word at `start` to `end` of the original text."""

    word: str
    level: str
    start: int
    end: int


class Matcher:
    """All words of a list, built once."""

    def __init__(self, words: Iterable[tuple[str, str]]) -> None:
        """`words`: pairs of word and level."""
        entries: defaultdict[str, list[WordEntry]] = defaultdict(list)
        for text, level in words:
            entry = WordEntry.of(text, level)
            entries[entry.skeleton].append(entry)
        self.automaton = ahocorasick.Automaton()
        for skeleton, sharing in entries.items():
            if skeleton:
                self.automaton.add_word(skeleton, tuple(sharing))
        self.automaton.make_automaton()
        levels = {entry.level for sharing in entries.values() for entry in sharing}
        self.judges = bool(levels - {SensitiveWord.Level.ALLOW})

    def find(self, text: str) -> list[Match]:
        """The sensitive words in `text` in order; not those inside an allowed phrase or a longer word found."""
        if not self.judges:
            return []
        found = set(self._matches(normalise(text)))
        if any(symbol in text for symbol in SYMBOLS):
            found.update(self._matches(normalise(text, symbols=True)))
        return _outermost(sorted(found, key=lambda match: (match.start, -match.end)))

    def _matches(self, form: Normalised) -> Iterator[Match]:
        for last, entries in self.automaton.iter(form.skeleton):
            for entry in entries:
                first = last - len(entry.plain) + 1
                if _is(entry, form, first):
                    yield Match(entry.text, entry.level, form.places[first], form.places[last] + 1)


def _outermost(matches: Iterable[Match]) -> list[Match]:
    """Drop matches inside allowed phrases, and inside longer matches of the same or a stricter level."""
    kept: list[Match] = []
    reach = dict.fromkeys(map(str, SensitiveWord.Level), 0)
    for match in matches:
        covering = {match.level, SensitiveWord.Level.BLOCK.value, SensitiveWord.Level.ALLOW.value}
        if match.end > max(reach[level] for level in covering):
            reach[match.level] = match.end
            kept.append(match)
    return [match for match in kept if match.level != SensitiveWord.Level.ALLOW]


def _is(entry: WordEntry, form: Normalised, first: int) -> bool:
    """Whether the skeleton found at `first` is the word."""
    plain = form.plain[first : first + len(entry.plain)]
    return (
        (plain == entry.plain or _is_disguised(entry, plain))
        and _ends_there(entry, form, first)
        and _is_in_one_piece(entry, form, first)
    )


def _is_disguised(entry: WordEntry, found: str) -> bool:
    """Whether `found` is the word with lookalikes: each a plausible one, and enough of the letters themselves."""
    same = 0
    for wanted, char in zip(entry.plain, found, strict=True):
        if wanted == char or NUMERALS.get(char) == wanted:
            same += 1
        elif not _looks_like(wanted, char):
            return False
    return (3 if entry.is_long_number else 2) * same >= len(found)


def _looks_like(wanted: str, char: str) -> bool:
    """Of two characters with one skeleton: not "l" for "i", not "四" for "a", but "4" for either."""
    if not is_narrow(wanted):
        return char.isdecimal()
    return is_narrow(char) and not (_is_latin(wanted) and _is_latin(char))


def _is_latin(char: str) -> bool:
    return "a" <= char <= "z"


def _ends_there(entry: WordEntry, form: Normalised, first: int) -> bool:
    """Whether a word of a script with spaces, or a number, is not a part of a longer one."""
    return not (
        _goes_on(entry.plain[0], form, first - 1, first)
        or _goes_on(entry.plain[-1], form, first + len(entry.plain), first + len(entry.plain))
    )


def _goes_on(edge: str, form: Normalised, beyond: int, border: int) -> bool:
    if not is_narrow(edge) or not 0 <= beyond < len(form.plain) or form.gap(border):
        return False
    neighbour = form.plain[beyond]
    if edge.isdecimal():
        return neighbour.isdecimal() or neighbour in NUMERALS
    return is_narrow(neighbour) and neighbour.isalpha()


def _is_in_one_piece(entry: WordEntry, form: Normalised, first: int) -> bool:
    """Whether the letters belong together: nothing ordinary between them, or so much that it is a disguise."""
    last = first + len(entry.plain) - 1
    if form.places[last] - form.places[first] == last - first or entry.is_long_number:
        return True
    cuts = [index for index in range(1, len(entry.plain)) if _is_cut(entry, index, form.gap(first + index))]
    pieces = len(cuts) + 1
    if pieces == 1 or (pieces >= 3 and len(entry.plain) <= 2 * pieces):
        return True
    return pieces == len(entry.plain) and _stands_alone(form, first, last)


def _is_cut(entry: WordEntry, index: int, gap: str) -> bool:
    """Whether this gap is common between two ordinary words, or two sentences."""
    if index in entry.breaks:
        return not _SENTENCE_ENDS.isdisjoint(gap)
    return not (_LETTER_GAPS if entry.is_narrow else _CLAUSE_ENDS).isdisjoint(gap)


def _stands_alone(form: Normalised, first: int, last: int) -> bool:
    """Whether all Chinese characters are separated, as in （赌）（博）."""
    wide = not is_narrow(form.plain[first])
    return wide and _is_open(form, first) and _is_open(form, last + 1)


def _is_open(form: Normalised, index: int) -> bool:
    return index in (0, len(form.plain)) or bool(form.gap(index))


class _Shared:
    """The matcher of this process, rebuilt when the stamp in the database has changed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stamp: UUID | None = None
        self._matcher = Matcher([])

    def current(self) -> Matcher:
        """The matcher of the present words; costs one small query if nothing has changed."""
        stamp = WordListVersion.current()
        with self._lock:
            if stamp != self._stamp:
                self._matcher = Matcher(SensitiveWord.objects.values_list("text", "level").iterator())
                self._stamp = stamp
            return self._matcher


matcher = _Shared().current
