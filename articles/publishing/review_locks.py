"""Who is on an article that waits for a reviewer, so that no two read the same."""

from __future__ import annotations

from django.utils.translation import gettext as _

from articles.audit import require
from articles.exceptions import LockedByAnother, WrongState
from articles.models import Article, SoftLock, named
from articles.publishing.transitions import Actor, lock, position
from articles.workflow import TRANSITIONS, Transition, is_possible
from scheduling.services import delete_by_ids, read_database_clock, retried


@retried
def soft_lock(article: Article, *, by: Actor) -> None:
    """Take an article that waits for a reviewer; others leave it alone for `REVIEW_SOFT_LOCK`.

    Raises `LockedByAnother`, `WrongState` when no reviewer is needed, and what `require` raises.
    """
    lock(article)
    require(TRANSITIONS[Transition.APPROVE].permission, by, article)
    if not is_possible(Transition.APPROVE, position(article)):
        raise WrongState(
            _("No reviewer is needed: the article is “%(status)s”.") % {"status": article.get_status_display()}
        )
    _refuse_rival(article, by)
    now = read_database_clock()
    SoftLock.objects.update_or_create(article=article, defaults={"user": by, "locked_at": now})  # type: ignore[misc]


@retried
def release_soft_lock(article: Article, *, by: Actor) -> None:
    """Let others have the article; any reviewer may do so for one who has gone home."""
    require(TRANSITIONS[Transition.APPROVE].permission, by)
    _forget(article)


def end_soft_lock(article: Article, by: Actor) -> None:
    """Whoever decides is done with it. Raises `LockedByAnother` if somebody else is; the caller holds the article."""
    _refuse_rival(article, by)
    _forget(article)


def _forget(article: Article) -> None:
    delete_by_ids(SoftLock, [article.pk])
    article._state.fields_cache.pop("soft_lock", None)


def _refuse_rival(article: Article, by: Actor) -> None:
    found = SoftLock.objects.select_related("user").filter(article=article).first()
    if found and found.user_id != by.pk and found.counts_at(read_database_clock()):
        raise LockedByAnother(_("%(user)s is reviewing this article.") % {"user": named(found.user)})
