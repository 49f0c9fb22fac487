"""Handing an article in, and what the reviewers say."""

from __future__ import annotations

from django.utils.translation import gettext as _

from articles.exceptions import ReasonMissing, WrongState
from articles.models import Article
from articles.review import review
from articles.services.steps import Person, move, taking
from articles.workflow import VERDICTS, Step


def submit(article: Article, *, by: Person) -> None:
    """Hand an article in; the automatic review decides at once whether it passes, is blocked or goes to a person."""
    with taking(Step.SUBMIT, article, by=by):
        if not article.title.strip():
            raise WrongState(_("An article without a headline cannot be submitted."))
        move(Step.SUBMIT, article)
        verdict, article.status_reason = review(article)
        article.status = VERDICTS[verdict]


def approve(article: Article, *, by: Person) -> None:
    """A person lets the article pass; if it has a time it is scheduled with that."""
    with taking(Step.APPROVE, article, by=by):
        move(Step.APPROVE, article)
        article.status_reason = ""


def refuse(article: Article, *, by: Person, reason: str) -> None:
    """A person sends the article back. Raises `ReasonMissing` without a reason."""
    if not reason.strip():
        raise ReasonMissing
    with taking(Step.REFUSE, article, by=by):
        move(Step.REFUSE, article)
        article.status_reason = reason.strip()[:500]
