"""Soft locks: a reviewer claims an article, so that no two review the same one."""

from __future__ import annotations

from datetime import datetime

from django.utils.translation import gettext as _

from articles.exceptions import LockedByAnother, WrongState
from articles.models import Article, SoftLock, named
from articles.permissions import require
from articles.publishing.transitions import Actor, lock, position
from articles.workflow import TRANSITIONS, Transition, is_possible
from scheduling.database import delete_by_ids, read_database_clock, retried


@retried
def soft_lock(article: Article, *, by: Actor, until_left: bool = False) -> None:
    """Claim an article that needs review, for `REVIEW_SOFT_LOCK` or, with `until_left`, until `leave_review`.

    Raises `LockedByAnother`, `WrongState` when no reviewer is needed, and what `require` raises.
    """
    lock(article)
    require(TRANSITIONS[Transition.APPROVE].permission, by, article)
    if not is_possible(Transition.APPROVE, position(article)):
        raise WrongState(
            _("No reviewer is needed: the article is “%(status)s”.") % {"status": article.get_status_display()}
        )
    _refuse_other_reviewer(article, by)
    now = read_database_clock()
    mine = SoftLock.objects.filter(article=article, user=by.pk, until_left=False).first()
    if until_left and mine and mine.counts_at(now):
        return  # claimed for longer already
    values = {"user": by, "locked_at": now, "until_left": until_left}
    SoftLock.objects.update_or_create(article=article, defaults=values)


@retried
def leave_review(article: Article, *, by: Actor, since: datetime) -> None:
    """Unclaim an article that `by` has claimed until the page is left, unless it was opened again after `since`."""
    lock(article)
    if SoftLock.objects.filter(article=article, user=by.pk, until_left=True, locked_at=since).exists():
        _delete(article)


@retried
def release_soft_lock(article: Article, *, by: Actor) -> None:
    """Unclaim an article; any reviewer may do so for another."""
    require(TRANSITIONS[Transition.APPROVE].permission, by)
    _delete(article)


def end_soft_lock(article: Article, by: Actor) -> None:
    """Unclaim a locked article after a decision. Raises `LockedByAnother` if another user has claimed it."""
    _refuse_other_reviewer(article, by)
    _delete(article)


def _delete(article: Article) -> None:
    delete_by_ids(SoftLock, [article.pk])
    article._state.fields_cache.pop("soft_lock", None)


def _refuse_other_reviewer(article: Article, by: Actor) -> None:
    found = SoftLock.objects.select_related("user").filter(article=article).first()
    if found and found.user_id != by.pk and found.counts_at(read_database_clock()):
        raise LockedByAnother(_("%(user)s is reviewing this article.") % {"user": named(found.user)})
