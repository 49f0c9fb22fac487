"""Soft locks: a reviewer claims an article, so that no two review the same one."""

from __future__ import annotations

from django.utils.translation import gettext as _

from articles.exceptions import LockedByAnother, WrongState
from articles.models import Article, SoftLock, named
from articles.permissions import require
from articles.publishing.transitions import Actor, lock, position
from articles.workflow import TRANSITIONS, Transition, is_possible
from scheduling.services import delete_by_ids, read_database_clock, retried


@retried
def soft_lock(article: Article, *, by: Actor) -> None:
    """Claim an article that needs review, for `REVIEW_SOFT_LOCK`.

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
    SoftLock.objects.update_or_create(article=article, defaults={"user": by, "locked_at": now})  # type: ignore[misc]


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
