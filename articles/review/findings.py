"""Opinions of the review: a verdict with its findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.utils.translation import gettext_noop

from articles.models import Review, Revision, SensitiveWord, Translatable, names_words, parts_of, place, stored_text
from articles.workflow import Verdict

MOST_FINDINGS = 100
"""Findings of an article that are stored."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A word or problem and its place. A problem has a `message`; a word is `found`, as written, in its `context`."""

    field: str
    paragraph: int = 0  #: counted from 1; 0 where there are none
    word: str = ""
    level: str = ""
    found: str = ""
    context: str = ""
    message: str = ""

    @classmethod
    def stored(cls, values: dict[str, Any]) -> Self:
        """The finding that `as_json` gave."""
        return cls(**{**values, "message": Translatable.read(values.get("message", ""))})

    def as_json(self) -> dict[str, Any]:
        """For a JSON column."""
        return {**asdict(self), "message": stored_text(self.message)}

    @property
    def place(self) -> str:
        """Its place, for the editor."""
        return place(self.field, self.paragraph)

    @property
    def is_blocking(self) -> bool:
        """Whether it alone blocks the article."""
        return self.level == SensitiveWord.Level.BLOCK

    @property
    def identity(self) -> tuple[str, str]:
        """What an approval accepts: this word at this level, or this problem."""
        return self.word or stored_text(self.message), self.level


def findings_of(revision: Revision) -> list[Finding]:
    """The stored findings of a revision."""
    review = Review.objects.filter(revision=revision).first()
    return [Finding.stored(values) for values in review.findings] if review else []


@dataclass(frozen=True, slots=True)
class Opinion:
    """A verdict with its reason and findings."""

    verdict: Verdict
    reason: str = ""
    findings: tuple[Finding, ...] = ()


PASSED = Opinion(Verdict.PASSED)


def strictest(opinions: Iterable[Opinion]) -> Opinion:
    """The combined opinion: blocked if one blocks, unsure if one is unsure, else passed."""
    given = list(opinions)
    verdicts = {opinion.verdict for opinion in given}
    verdict = next((v for v in (Verdict.BLOCKED, Verdict.UNSURE) if v in verdicts), Verdict.PASSED)
    ranked = sorted(given, key=lambda opinion: opinion.verdict != verdict)
    reason = Translatable.joined(opinion.reason for opinion in ranked)
    findings = tuple(finding for opinion in ranked for finding in opinion.findings)[:MOST_FINDINGS]
    return Opinion(verdict, reason, findings)


def beyond(reason: str, findings: Sequence[Finding]) -> str:
    """The sentences of a reason that its findings do not say already."""
    said = [part for finding in findings for part in parts_of(finding.message)]
    return Translatable(*(part for part in parts_of(reason) if part not in said and not names_words(part)))


def of_findings(findings: Iterable[Finding]) -> Opinion:
    """The opinion about these sensitive words, with their places."""
    found = tuple(findings)
    if not found:
        return PASSED
    blocking = [finding for finding in found if finding.is_blocking]
    if blocking:
        reason = Translatable.of(gettext_noop("Blocked words: %(words)s."), words=_places(blocking))
        return Opinion(Verdict.BLOCKED, reason, found)
    reason = Translatable.of(gettext_noop("Words to look at: %(words)s."), words=_places(found))
    return Opinion(Verdict.UNSURE, reason, found)


def _places(findings: Iterable[Finding]) -> list[list[Any]]:
    """The words with their places, as a message stores them."""
    return [[finding.word, finding.field, *([finding.paragraph] if finding.paragraph else [])] for finding in findings]
