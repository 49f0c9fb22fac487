"""Changes to an article since its form was opened."""

from __future__ import annotations

from django.utils.translation import gettext as _

from articles.audit import ANNOTATING, EDIT, IMPORT, SAVE
from articles.desk.audit.admin import name_of
from articles.models import Article, AuditEntry, named
from articles.pages import newest_number
from articles.text import format_time_briefly

WRITING = frozenset({EDIT, IMPORT, SAVE})
"""Audit actions that save text."""


def who_saved_last(article: Article) -> str:
    """The author of the newest revision, except revisions set aside by a conflict."""
    revision = article.revisions.select_related("author").filter(number=newest_number(article)).first()
    return named(revision.author) if revision and revision.author else _("Another user")


def happened(article: Article, base: str) -> str:
    """One sentence: who saved the article after revision `base`, or the last other change."""
    saved = _("%(name)s has saved this article since you opened it.")
    last = AuditEntry.objects.of(article).exclude(action__in=ANNOTATING).with_names().first()
    if last is None or base != str(newest_number(article)):
        return saved % {"name": who_saved_last(article)}
    if last.action in WRITING:
        return saved % {"name": last.who}
    words = {"event": name_of(last.action), "who": last.who, "time": format_time_briefly(last.at)}
    return _("Since you opened this article: %(event)s (%(who)s, %(time)s).") % words
