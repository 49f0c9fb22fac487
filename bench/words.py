"""Benchmark subprocess: time to match 50,000 sensitive words in an article of 10,000 characters.

`words Headline` matches as the review does, `words library` what the library alone finds: plain words in plain text.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import sys
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
REPETITIONS = 20

_HAN = [chr(code) for code in range(0x4E00, 0x5E00)]
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def main(way: str) -> None:
    """Build, measure and print the milliseconds of each article as JSON."""
    chance = random.Random(50_000)
    words = list(dict.fromkeys(_words(chance)))[:WORDS]
    articles = {"as it comes": _article(chance, []), "with 100 words": _article(chance, chance.sample(words, 100))}
    find = _matcher(words) if way == "Headline" else _raw(words)
    print(json.dumps({name: _median(partial(find, text)) for name, text in articles.items()}))


def _matcher(words: list[str]) -> Callable[[str], object]:
    return Matcher((word, SensitiveWord.Level.BLOCK) for word in words).find


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


def _raw(words: list[str]) -> Callable[[str], object]:
    automaton = ahocorasick.Automaton()
    for word in words:
        automaton.add_word(word, word)
    automaton.make_automaton()
    return lambda text: list(automaton.iter(text))


def _median(call: Callable[[], object]) -> float:
    """Milliseconds of a call."""
    taken = []
    for _ in range(REPETITIONS):
        began = time.perf_counter()
        call()
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


if __name__ == "__main__":
    main(sys.argv[1])
