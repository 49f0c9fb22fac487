"""Adding sensitive words in bulk, with a report of problems and audit entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, zip_longest

from django.utils.translation import gettext as _

from articles.audit import Action, stamped
from articles.limits import WORD_LENGTH
from articles.models import AuditEntry, Levels, SensitiveWord, WordListVersion
from articles.text import plain_form
from scheduling.database import retried

_PATTERN = re.compile(r"[*\\\[\]{}^]|\.[+?]|\w\?\w|^[^\n(]*+\([^\n|]*+\|[^\n)]*+\)", re.MULTILINE)
_SHOWN = 40  # characters of a word that a message repeats
_BATCH = 1000  # rows in one statement
_RECORDED = 1000  # words in one audit entry


@dataclass(frozen=True, slots=True)
class WordProblem:
    """Why the word of a line was not added. `failed` is false for a word that exists already."""

    line: int
    word: str
    message: str
    failed: bool


@dataclass
class WordReport:
    """The number of words added, and the problems."""

    created: int = 0
    skipped: int = 0
    failed: int = 0
    problems: list[WordProblem] = field(default_factory=list)

    def __str__(self) -> str:
        return f"created={self.created} skipped={self.skipped} failed={self.failed}"


def add_words(lines: Iterable[str], *, level: SensitiveWord.Level) -> WordReport:
    """Store the words of `lines`, one a line, in one transaction."""
    return _add(list(lines), level)


@retried
def _add(lines: Sequence[str], level: SensitiveWord.Level) -> WordReport:
    report = WordReport()
    WordListVersion.objects.get_or_create(pk=WordListVersion.ROW)
    WordListVersion.hold()
    known = dict(SensitiveWord.objects.values_list("normalised", "level"))
    new = list(_new_words(lines, level, known, report))
    if new:
        SensitiveWord.objects.bulk_create(new, batch_size=_BATCH)
    report.created = len(new)
    return report


def record_words(old: Levels, new: Levels) -> None:
    """Record which words were added, changed or deleted: `old` before, `new` after."""
    if old == new:
        return
    action = Action.CHANGE_WORDS if old and new else Action.DELETE_WORDS if old else Action.ADD_WORDS
    none: Levels = {}
    pages = zip_longest(_pages(old), _pages(new), fillvalue=none)
    entries = [stamped(action, details={"old": before, "new": after}) for before, after in pages]
    AuditEntry.objects.bulk_create(entries, batch_size=10)


def _pages(levels: Levels) -> list[Levels]:
    """The same in chunks for one entry each."""
    words = iter(levels.items())
    return [dict(page) for page in iter(lambda: list(islice(words, _RECORDED)), [])]


def problem_of(text: str) -> str:
    """Why `text` cannot be a sensitive word; empty if it can."""
    normalised = plain_form(text[: WORD_LENGTH + 1])
    if len(text) > WORD_LENGTH or len(normalised) > WORD_LENGTH:
        return _("longer than %(limit)d characters") % {"limit": WORD_LENGTH}
    if not normalised:
        return _("has neither a letter nor a digit")
    if _PATTERN.search(text):
        return _("looks like a pattern; write the word itself, disguised spellings are found automatically")
    if len(normalised) == 1:
        return _("a single character is in almost every article")
    return ""


def _new_words(
    lines: Iterable[str], level: SensitiveWord.Level, known: dict[str, str], report: WordReport
) -> Iterable[SensitiveWord]:
    for number, line in enumerate(lines, start=1):
        text = line.strip().lstrip("\ufeff")
        if not text:
            continue
        normalised = plain_form(text[: WORD_LENGTH + 1])
        if problem := problem_of(text):
            _refuse(report, number, text, problem, failed=True)
        elif normalised in known:
            _refuse(report, number, text, _repeated(known[normalised], level), failed=known[normalised] != level)
        else:
            known[normalised] = level
            yield SensitiveWord(text=text, normalised=normalised, level=level)


def _repeated(there: str, level: SensitiveWord.Level) -> str:
    if there == level:
        return _("is in the list already, possibly in another spelling")
    return _("is in the list already, as “%(level)s”") % {"level": SensitiveWord.Level(there).label}


def _refuse(report: WordReport, line: int, text: str, message: str, *, failed: bool) -> None:
    report.failed += failed
    report.skipped += not failed
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    report.problems.append(WordProblem(line, shown, message, failed))
