"""Assignments: the owner of an article, and when the owner has to be ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from articles.audit import (
    Action,
    Actor,
    record_annotation,
)
from articles.exceptions import WithoutAccess
from articles.models import Article, Notification, named
from articles.notifications import notify_users, speaking_to
from articles.permissions import newsroom
from articles.publishing.schedules import refuse_past_times
from articles.publishing.store import checked_time
from articles.text import format_time_exactly
from scheduling.database import read_database_clock

ASSIGNMENT = frozenset({"owner", "due_at"})
"""The fields of an assignment. No form of another editor conflicts with them, and readers see nothing of them."""

NONE = Article()
"""An article without an assignment."""


def assign(article: Article, changes: Mapping[str, Any], *, by: Actor) -> None:
    """Write the changes of an assignment of a locked article, record them and notify the owner.

    Raises what `check_assignment` raises.
    """
    if ASSIGNMENT.isdisjoint(changes):
        return
    old = Article(owner_id=article.owner_id, due_at=article.due_at)
    for name in ASSIGNMENT & changes.keys():
        setattr(article, name, changes[name])
    check_assignment(article, old)
    Article.objects.filter(pk=article.pk).update_unseen(owner=article.owner_id, due_at=article.due_at)
    article.refresh_from_db(fields=ASSIGNMENT)
    record_assignment(article, old, by=by)


def check_assignment(article: Article, old: Article = NONE) -> None:
    """Raise `WithoutAccess` for an owner who may not see articles, or `InvalidSchedule` or `TimePast`."""
    is_new = article.owner is not None and article.owner_id != old.owner_id
    if is_new and not newsroom().filter(pk=article.owner_id).exists():
        raise WithoutAccess([named(article.owner)])
    if article.due_at is not None and article.due_at != old.due_at:
        refuse_past_times({"due_at": checked_time(article.due_at)}, read_database_clock())


def record_assignment(article: Article, old: Article = NONE, *, by: Actor) -> None:
    """Record what differs from the `old` assignment, and notify the owner."""
    details: dict[str, Any] = {}
    if article.owner_id != old.owner_id:
        details["assigned"] = [old.owner_id, article.owner_id]
    if article.due_at != old.due_at:
        details["due_at"] = [moment and moment.isoformat() for moment in (old.due_at, article.due_at)]
    if not details:
        return
    record_annotation(Action.ASSIGN, article, by=by, **details)
    if article.owner is not None:
        notify_users(Notification.Kind.ASSIGNED, article, [article.owner.pk], by=by, reason=_due(article))


def _due(article: Article) -> str:
    """When it is due, in the owner's language and time zone."""
    with speaking_to(article.owner):
        return _("Due %(time)s.") % {"time": format_time_exactly(article.due_at)} if article.due_at else ""
