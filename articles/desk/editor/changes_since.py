"""Changes to an article since its form was opened."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from articles.audit import (
    ANNOTATING,
    Action,
    Actor,
    label_of,
)
from articles.models import Article, AuditEntry, named
from articles.pages import newest_number
from articles.text import format_time_briefly

WRITING = frozenset({Action.EDIT, Action.IMPORT, Action.SAVE})
"""Audit actions that save text."""


def who_saved_last(article: Article) -> Any:
    """The author of the newest revision, except revisions set aside by a conflict; None if unknown."""
    revision = article.revisions.select_related("author").filter(number=newest_number(article)).first()
    return revision.author if revision else None


def happened(article: Article, base: str, reader: Actor) -> str:
    """One sentence for `reader`: who saved the article after revision `base`, or the last other change."""
    last = AuditEntry.objects.of(article).exclude(action__in=ANNOTATING).with_names().first()
    if last is None or base != str(newest_number(article)):
        user = who_saved_last(article)
        return _saved(named(user) if user else _("Another user"), is_own=user == reader)
    if last.action in WRITING:
        return _saved(last.who, is_own=last.user_id == reader.pk)
    words = {"event": label_of(last.action), "who": last.who, "time": format_time_briefly(last.at)}
    return _("Since you opened this article: %(event)s (%(who)s, %(time)s).") % words


def _saved(name: str, *, is_own: bool) -> str:
    if is_own:
        return _("You have saved this article in another window since you opened it here.")
    return _("%(name)s has saved this article since you opened it.") % {"name": name}
