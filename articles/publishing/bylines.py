"""Names of authors: other ones need a second person, and what readers see keeps those of deleted accounts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from articles.audit import Actor, record_bylines
from articles.models import Article, ProposedChange, Revision, Update, named
from articles.publishing.revisions import copy_findings
from articles.publishing.store import store_update
from articles.review import applies, needs_second_person, propose, set_values
from articles.search import index
from scheduling.database import among, lock_by_ids

_SIGNED = Q(byline="") | Q(update__draft__byline="") | Q(update__approved__byline="")


def count_signed(users: Iterable[Any]) -> int:
    """How many articles, of any status, show a name of these authors to readers, or will once they are updated."""
    return _signed_by(user.pk for user in users if user.get_full_name()).count()


def propose_name(author: AbstractBaseUser, *, first_name: str, last_name: str, by: Actor) -> bool:
    """Under the two-person rule, propose another name of an author whose name readers see, and change nothing.

    False if the name needs no other person, so the caller stores it.
    """
    if not needs_second_person() or not _is_read(author):
        return False
    stored = lock_by_ids(get_user_model(), [author.pk]).get()
    names = {"first_name": first_name, "last_name": last_name}
    propose(stored, names, name=named(stored), by=by)
    return True


@applies(ProposedChange.Subject.USER, get_user_model())
def _apply(author: Any, values: Mapping[str, Any], by: Actor) -> None:
    set_values(author, values)
    author.save(update_fields=list(values))


def _is_read(author: AbstractBaseUser) -> bool:
    """Whether a text that is approved, or that a reviewer may be reading, has them as its author."""
    unread = Article.Status.DRAFT, Article.Status.REJECTED
    return Article.objects.filter(author=author.pk).exclude(status__in=unread).exists()


def keep_bylines(author: AbstractBaseUser) -> None:
    """Before an account is deleted: store its name as the byline of the articles that show it, and of their updates.

    Readers see no change, so it is none for them. Called in the transaction that deletes the account.
    """
    name: str = author.get_full_name()[: Article._meta.get_field("byline").max_length]  # type: ignore[attr-defined]
    if not name:
        return
    with transaction.atomic(savepoint=False):
        ids = list(_signed_by([author.pk]).values_list("pk", flat=True))
        list(lock_by_ids(Article, ids).values_list("pk"))
        for update in Update.objects.filter(article__in=among(ids)).select_related("article", "draft", "approved"):
            _sign(update, name)
        signed = Article.objects.filter(pk__in=among(ids), byline="")
        # Not by `save()`: no revision and no new time, since readers see the same name as before.
        signed.update(byline=name, text_changed_at=F("text_changed_at"))
        index(ids)
        record_bylines(ids, name)


def _signed_by(author_ids: Iterable[int]) -> QuerySet[Article]:
    return Article.objects.filter(_SIGNED, author__in=list(author_ids)).order_by()


def _sign(update: Update, name: str) -> None:
    """Give the texts of an update the name, as revisions that replace them: stored ones do not change."""
    for part in ("draft", "approved"):
        revision = getattr(update, part)
        if revision is not None and not revision.byline:
            setattr(update, part, _signed(update.article, revision, name))
    store_update(update)


def _signed(article: Article, revision: Revision, name: str) -> Revision:
    text, note = revision.text.changed({"byline": name}), _("The same text, with the name of its author as the byline")
    saved_by = revision.author if revision.author_id != article.author_id else None  # whose account is deleted
    new = Revision.objects.add(article, text, author=saved_by, note=note, correction=revision.correction)
    copy_findings(revision, new)
    return new
