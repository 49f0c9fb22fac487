"""Texts that readers see at once, without a review of their own: names, descriptions, the retraction notice."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from articles.exceptions import SensitiveText
from articles.review.pipeline import review_words
from articles.review.text import ReviewSubject


def refuse_sensitive(*texts: str) -> None:
    """Raise `SensitiveText` for blocked words; under the two-person rule, also for those that need a reviewer."""
    findings = review_words(ReviewSubject({}, captions=texts)).findings
    refused = [one.word for one in findings if one.is_blocking or settings.ARTICLES_TWO_PERSON_RULE]
    if refused:
        words = _(", ").join(f"“{word}”" for word in dict.fromkeys(refused))
        message = _("Readers see this text without a review, so it may not contain %(words)s.")
        raise SensitiveText(message % {"words": words})
