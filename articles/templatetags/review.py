"""Template tags for findings of the automatic review."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

from django import template
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

from articles.desk.comparison import ShownRow, shown
from articles.models import Article, Review, named
from articles.publishing import FieldDiff
from articles.review import Finding
from scheduling.database import read_database_clock

register = template.Library()

_SHOWN_IN = (Article.Status.REJECTED, Article.Status.MANUAL_REVIEW)
_TAG = re.compile(r"(<[^<>]*+>)")


@register.inclusion_tag("articles/desk/findings.html")
def review_findings(article: Article) -> dict[str, Any]:
    """Findings of a rejected or waiting text, and its current reviewer."""
    newer = article.pending_update if article.pending_update and article.pending_update.draft else None
    number = newer.draft.number if newer and newer.draft else article.revision
    review = Review.objects.filter(revision__article=article, revision__number=number).first()
    is_shown = review and (newer or article).status in _SHOWN_IN
    claim = getattr(article, "soft_lock", None)
    return {
        "findings": [Finding.stored(values) for values in review.findings] if review and is_shown else [],
        "reviewer": named(claim.user) if claim and claim.counts_at(read_database_clock()) else None,
    }


@register.simple_tag(takes_context=True)
def shown_rows(context: dict[str, Any], field: FieldDiff) -> list[ShownRow]:
    """The rows of a comparison as HTML, with the findings of the page highlighted in the new text."""
    return shown(field, partial(marked, findings=context.get("findings")), is_cut=bool(context.get("is_cut")))


@register.filter
def marked(text: str, findings: Sequence[Finding] | None) -> SafeString:
    """Text or safe HTML with the findings highlighted."""
    html = conditional_escape(text)
    found = {str(conditional_escape(finding.found)) for finding in findings or () if finding.found}
    if not found:
        return html
    words = re.compile("|".join(map(re.escape, sorted(found, key=len, reverse=True))))
    pieces = _TAG.split(html)
    pieces[::2] = [words.sub(r"<mark>\g<0></mark>", piece) for piece in pieces[::2]]
    return mark_safe("".join(pieces))  # noqa: S308 (escaped above, or safe already; the tags added are ours)
