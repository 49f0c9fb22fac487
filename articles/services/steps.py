"""What every step of an article has in common: lock it, then ask whether this person may take the step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from articles.exceptions import ArticleGone, NotAllowed, WrongState
from articles.models import Article
from articles.services.recording import Person as Person
from articles.services.recording import recorded
from articles.workflow import STEPS, Step, may_start
from scheduling.services import read_database_clock


@contextmanager
def taking(step: Step, article: Article, *, by: Person) -> Iterator[datetime]:
    """Lock `article`, load it again and check that `by` may take `step`; save and commit when the block ends.

    Yields the database's present instant. Changes made to the instance before are dropped: what is stored counts.
    Raises `NotAllowed`, `ArticleGone` or `WrongState`.
    """
    require(STEPS[step].permission, by)
    with transaction.atomic():
        lock(article)
        now = _check(step, article)
        with recorded(step, article, by=by):
            yield now
            article.save()


def lock(article: Article) -> None:
    """Lock the row until the end of the transaction and load it. Raises `ArticleGone`."""
    try:
        article.refresh_from_db(from_queryset=Article.objects.locked())
    except Article.DoesNotExist as error:
        raise ArticleGone from error


def require(permission: str, by: Person) -> None:
    """Raise `NotAllowed` unless `by` has the permission, such as "articles.publish_article"."""
    if not by.has_perm(permission):  # type: ignore[union-attr]
        raise NotAllowed


def move(step: Step, article: Article) -> None:
    """Set the status the step leads to."""
    target = STEPS[step].target
    if target is not None:
        article.status = target


def _check(step: Step, article: Article) -> datetime:
    if not may_start(step, article.status):
        raise WrongState(
            _("“%(step)s” is not possible: the article is “%(status)s”.")
            % {"step": STEPS[step].label, "status": article.get_status_display()}
        )
    return read_database_clock()
