"""Who is on an article that waits for a reviewer, so that no two read the same."""

from __future__ import annotations

from django.utils.translation import gettext as _

from articles.audit import require
from articles.exceptions import ClaimedByAnother, WrongState
from articles.models import Article, Claim, named
from articles.publishing.transitions import Person, lock, position
from articles.workflow import STEPS, Step, may_start
from scheduling.services import delete_by_ids, read_database_clock, retried


@retried
def claim(article: Article, *, by: Person) -> None:
    """Take an article that waits for a reviewer; others leave it alone for `REVIEW_CLAIM`.

    Raises `ClaimedByAnother`, `WrongState` when no reviewer is needed, and what `require` raises.
    """
    lock(article)
    require(STEPS[Step.APPROVE].permission, by, article)
    if not may_start(Step.APPROVE, position(article)):
        raise WrongState(
            _("No reviewer is needed: the article is “%(status)s”.") % {"status": article.get_status_display()}
        )
    _refuse_rival(article, by)
    now = read_database_clock()
    Claim.objects.update_or_create(article=article, defaults={"person": by, "claimed_at": now})  # type: ignore[misc]


@retried
def let_go(article: Article, *, by: Person) -> None:
    """Let others have the article; any reviewer may do so for one who has gone home."""
    require(STEPS[Step.APPROVE].permission, by)
    _forget(article)


def end_claim(article: Article, by: Person) -> None:
    """Whoever decides is done with it. Raises `ClaimedByAnother` if somebody else is; the caller holds the article."""
    _refuse_rival(article, by)
    _forget(article)


def _forget(article: Article) -> None:
    delete_by_ids(Claim, [article.pk])
    article._state.fields_cache.pop("claim", None)


def _refuse_rival(article: Article, by: Person) -> None:
    found = Claim.objects.select_related("person").filter(article=article).first()
    if found and found.person_id != by.pk and found.counts_at(read_database_clock()):
        raise ClaimedByAnother(_("%(person)s is reviewing this article.") % {"person": named(found.person)})
