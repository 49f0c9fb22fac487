"""Renaming and deleting tags, which readers see with every article that has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from articles.audit import Action, Actor, record_beside
from articles.exceptions import NotAllowed
from articles.models import Article, ProposedChange, Tag
from articles.permissions import REVIEW, require
from articles.review import applies, needs_second_person, propose, refuse_sensitive, set_values
from scheduling.database import lock_by_ids, retried

NO_APPROVAL = _("Approved articles have this tag; only users who may approve articles can change it.")


@retried
def rename_tag(tag: Tag, *, name: str, slug: str, by: Actor) -> None:
    """Rename a tag; under the two-person rule propose that, if approved articles have it.

    Raises `NotAllowed` if approved articles have it and `by` may not approve, and `SensitiveText`.
    """
    require("articles.change_tag", by)
    stored = lock_by_ids(Tag, [tag.pk]).get()
    _require_approval(stored, by)
    refuse_sensitive(name)
    given = {"name": name, "slug": slug}
    # What is not changed stays as it is proposed, too.
    values = {name: value for name, value in given.items() if value != getattr(stored, name)}
    if needs_second_person() and not _is_free(stored):
        propose(stored, values, name=stored.name, by=by)
    else:
        _rename(tag, given, by, old_name=stored.name)


@applies(ProposedChange.Subject.TAG, Tag)
def _apply(tag: Tag, values: Mapping[str, Any], by: Actor) -> None:
    _rename(tag, values, by, old_name=tag.name)


def _rename(tag: Tag, values: Mapping[str, Any], by: Actor, *, old_name: str) -> None:
    set_values(tag, values)
    tag.save()
    record_beside(Action.RENAME_TAG, title=tag.name, by=by, old_name=old_name)


@retried
def delete_tag(tag: Tag, *, by: Actor) -> None:
    """Delete a tag, also from its articles, unless it is gone. Raises `NotAllowed` as `rename_tag` does."""
    require("articles.delete_tag", by)
    stored = lock_by_ids(Tag, [tag.pk]).first()
    if stored is None:
        return
    _require_approval(stored, by)
    record_beside(Action.DELETE_TAG, title=tag.name, by=by)
    tag.delete()


def may_change(tag: Tag, by: Actor) -> bool:
    """Whether `by` may change the name of a tag."""
    return _is_free(tag) or by.has_perm(REVIEW)  # type: ignore[union-attr]


def _is_free(tag: Tag) -> bool:
    """Whether no approved article has it."""
    return not tag.articles.exclude(status__in=Article.Status.unapproved()).exists()


def _require_approval(tag: Tag, by: Actor) -> None:
    if not may_change(tag, by):
        raise NotAllowed(NO_APPROVAL)
