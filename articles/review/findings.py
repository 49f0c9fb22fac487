"""Opinions of the review: a verdict with its findings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

from django.utils.text import Truncator
from django.utils.translation import gettext as _

from articles.models import Review, Revision, SensitiveWord
from articles.review.text import LABELS
from articles.workflow import Verdict

LONGEST_REASON = 500  # characters, as `Article.status_reason` holds
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
        return cls(**values)

    def as_json(self) -> dict[str, Any]:
        """For a JSON column."""
        return asdict(self)

    @property
    def place(self) -> str:
        """Its place, for the editor."""
        label = LABELS[self.field]
        if not self.paragraph:
            return str(label)
        return _("%(field)s, paragraph %(number)d") % {"field": label, "number": self.paragraph}

    @property
    def is_blocking(self) -> bool:
        """Whether it alone blocks the article."""
        return self.level == SensitiveWord.Level.BLOCK

    @property
    def identity(self) -> tuple[str, str]:
        """What an approval accepts: this word at this level, or this problem."""
        return self.word or self.message, self.level


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

    @property
    def short_reason(self) -> str:
        """The reason, cut to the length of the article's column."""
        return Truncator(self.reason).chars(LONGEST_REASON)


PASSED = Opinion(Verdict.PASSED)


def strictest(opinions: Iterable[Opinion]) -> Opinion:
    """The combined opinion: blocked if one blocks, unsure if one is unsure, else passed."""
    given = list(opinions)
    verdicts = {opinion.verdict for opinion in given}
    verdict = next((v for v in (Verdict.BLOCKED, Verdict.UNSURE) if v in verdicts), Verdict.PASSED)
    ranked = sorted(given, key=lambda opinion: opinion.verdict != verdict)
    reason = " ".join(opinion.reason for opinion in ranked if opinion.reason)
    findings = tuple(finding for opinion in ranked for finding in opinion.findings)[:MOST_FINDINGS]
    return Opinion(verdict, reason, findings)


def of_findings(findings: Iterable[Finding]) -> Opinion:
    """The opinion about these sensitive words, with their places."""
    found = tuple(findings)
    if not found:
        return PASSED
    blocking = [finding for finding in found if finding.is_blocking]
    if blocking:
        return Opinion(Verdict.BLOCKED, _("Blocked words: %(words)s.") % {"words": _named(blocking)}, found)
    return Opinion(Verdict.UNSURE, _("Words to look at: %(words)s.") % {"words": _named(found)}, found)


def _named(findings: Iterable[Finding]) -> str:
    places: dict[str, list[str]] = {}
    for finding in findings:
        places.setdefault(finding.word, []).append(finding.place)
    listed = {word: _(", ").join(dict.fromkeys(where)) for word, where in places.items()}
    # Translators: between words that were found, each with its places
    return _("; ").join(_("“%(word)s” (%(places)s)") % {"word": word, "places": listed[word]} for word in listed)
