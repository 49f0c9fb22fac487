"""Time to match 50,000 sensitive words in an article of 10,000 characters.

Beside it, what the library alone takes for the plain words in the plain text: the ratio is the price of seeing through
disguises and naming places. Run as `python -m bench.words`.
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import ahocorasick
import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "headline.settings")
django.setup()

from articles.models import SensitiveWord  # noqa: E402 (models need a Django that is set up)
from articles.review.words import Matcher  # noqa: E402

WORDS = 50_000
CHARACTERS = 10_000
ROUNDS = 50
LIMIT = 20.0  # milliseconds

_HAN = [chr(code) for code in range(0x4E00, 0x5E00)]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main() -> None:
    """Build, measure and print; raises when the limit is passed."""
    chance = random.Random(50_000)
    words = list(dict.fromkeys(_words(chance)))[:WORDS]
    articles = {"as it comes": _article(chance, []), "with 100 words": _article(chance, chance.sample(words, 100))}
    began = time.perf_counter()
    matcher = Matcher((word, SensitiveWord.Level.BLOCK) for word in words)
    print(f"built of {len(words):,} words in {time.perf_counter() - began:.2f} s")
    raw = _raw(words)
    for name, text in articles.items():
        found = len(matcher.find(text))
        ours, theirs = _medians(partial(matcher.find, text), partial(_all, raw, text))
        figures = f"{ours:.2f} ms, raw {theirs:.2f} ms, ratio {ours / theirs:.1f}"
        print(f"{name}: {len(text):,} characters, {found} found, {figures}")
        if ours > LIMIT:
            raise SystemExit(f"slower than {LIMIT} ms")


def _words(chance: random.Random) -> Iterator[str]:
    """Four of five Chinese, of two to six characters."""
    for number in range(2 * WORDS):
        letters, longest = (_LETTERS, (5, 12)) if number % 5 == 0 else (_HAN, (2, 6))
        yield "".join(chance.choices(letters, k=chance.randint(*longest)))


def _article(chance: random.Random, planted: list[str]) -> str:
    """Sentences of Chinese and English, with `planted` words between them."""
    pieces: list[str] = []
    while sum(map(len, pieces)) < CHARACTERS:
        letters, size = (_LETTERS + "     ", 60) if len(pieces) % 3 == 0 else (_HAN, 30)
        pieces.append("".join(chance.choices(letters, k=size)) + "。")
        pieces.extend([f" {planted.pop()} "] if planted else [])
    return "".join(pieces)[:CHARACTERS]


def _raw(words: list[str]) -> ahocorasick.Automaton:
    automaton = ahocorasick.Automaton()
    for word in words:
        automaton.add_word(word, word)
    automaton.make_automaton()
    return automaton


def _all(automaton: ahocorasick.Automaton, text: str) -> list[object]:
    return list(automaton.iter(text))


def _medians(*calls: Callable[[], object]) -> list[float]:
    """Milliseconds of each call; they take turns, so that all suffer from the same neighbours."""
    times: list[list[float]] = [[] for _call in calls]
    for _ in range(ROUNDS):
        for call, taken in zip(calls, times, strict=True):
            began = time.perf_counter()
            call()
            taken.append((time.perf_counter() - began) * 1000)
    return [statistics.median(taken) for taken in times]


if __name__ == "__main__":
    main()
