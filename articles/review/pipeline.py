"""The automatic review: sensitive words and images first, then the review providers."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError
from django.utils.translation import gettext_noop

from articles.models import BODY, Translatable
from articles.review import words
from articles.review.findings import MOST_FINDINGS, Finding, Opinion, of_findings, strictest
from articles.review.images import review_images
from articles.review.providers import ask_providers
from articles.review.text import ReviewSubject
from articles.workflow import Verdict

logger = logging.getLogger(__name__)

IMAGES_AT_ONCE = 5  # images up to which an article is reviewed while the editor waits
CONTEXT = 20  # characters shown on each side of a word

FAILED = Opinion(Verdict.UNSURE, Translatable.of(gettext_noop("The automatic review failed.")))
"""The opinion when the review raised an error."""


def takes_long(subject: ReviewSubject) -> bool:
    """Whether the review is run in the background."""
    is_long = subject.length > settings.REVIEW_AT_ONCE or len(subject.images) > IMAGES_AT_ONCE
    return bool(settings.REVIEW_SERVICES) or is_long


def review(subject: ReviewSubject) -> Opinion:
    """The opinion of the automatic review about an article; errors need a reviewer and never pass."""
    try:
        return _review(subject)
    except DatabaseError:
        raise
    except Exception:
        logger.exception("the review of “%s” failed", subject.title)
        return FAILED


def review_words(subject: ReviewSubject) -> Opinion:
    """The opinion by the present sensitive words alone."""
    return of_findings(_find(words.matcher(), subject))


def _review(subject: ReviewSubject) -> Opinion:
    matcher = words.matcher()
    own = strictest([of_findings(_find(matcher, subject)), review_images(subject)])
    if own.verdict is Verdict.BLOCKED:
        return own
    return strictest([own, *ask_providers(subject)])


def _find(matcher: words.Matcher, subject: ReviewSubject) -> Iterator[Finding]:
    for field, text in subject.texts():
        for match in matcher.find(text)[:MOST_FINDINGS]:
            yield Finding(
                field=field,
                paragraph=_paragraph(text, match.start) if field == BODY else 0,
                word=match.word,
                level=match.level,
                found=text[match.start : match.end][:MOST_FINDINGS],
                context=_context(text, match),
            )


def _paragraph(text: str, position: int) -> int:
    """The number of the paragraph at `position`; empty lines do not count."""
    return len([line for line in text[:position].split("\n")[:-1] if line.strip()]) + 1


def _context(text: str, match: words.Match) -> str:
    begin, end = max(match.start - CONTEXT, 0), match.end + CONTEXT
    before, after = "…" * (begin > 0), "…" * (end < len(text))
    return before + " ".join(text[begin:end].split()) + after
