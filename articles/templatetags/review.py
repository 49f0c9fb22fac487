"""What the automatic review found, on the screen of the article."""

from __future__ import annotations

from typing import Any

from django import template

from articles.models import Article, Review
from articles.review import Finding
from scheduling.services import read_database_clock

register = template.Library()

_SHOWN_IN = (Article.Status.REJECTED, Article.Status.MANUAL_REVIEW)


@register.inclusion_tag("articles/desk/findings.html")
def review_findings(article: Article) -> dict[str, Any]:
    """The words and faults in the text that was sent back or waits for a reviewer, and who is on it."""
    newer = article.newer if article.newer and article.newer.draft else None
    number = newer.draft.number if newer and newer.draft else article.revision
    review = Review.objects.filter(revision__article=article, revision__number=number).first()
    is_shown = review and (newer or article).status in _SHOWN_IN
    claim = getattr(article, "claim", None)
    return {
        "findings": [Finding.stored(values) for values in review.findings] if review and is_shown else [],
        "reviewer": claim.person if claim and claim.counts_at(read_database_clock()) else None,
    }
