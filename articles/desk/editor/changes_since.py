"""What became of an article while somebody had its form open."""

from __future__ import annotations

from django.utils.translation import gettext as _

from articles.audit import EDIT, IMPORT, SAVE
from articles.desk.audit.admin import name_of
from articles.models import Article, AuditEntry, named
from articles.pages import newest_number
from articles.text import spoken_briefly

WRITING = frozenset({EDIT, IMPORT, SAVE})
"""The actions that save what somebody wrote."""


def who_saved_last(article: Article) -> str:
    """Whose is the newest text; a text that came too late and was put aside does not count."""
    revision = article.revisions.select_related("author").filter(number=newest_number(article)).first()
    return named(revision.author) if revision and revision.author else _("Somebody")


def happened(article: Article, base: str) -> str:
    """One sentence: who saved the article since a form began with revision `base`, or what else was done to it last."""
    saved = _("%(name)s has saved this article since you opened it.")
    last = AuditEntry.objects.of(article).with_names().first()
    if last is None or base != str(newest_number(article)):
        return saved % {"name": who_saved_last(article)}
    if last.action in WRITING:
        return saved % {"name": last.who}
    words = {"event": name_of(last.action), "who": last.who, "time": spoken_briefly(last.at)}
    return _("Since you opened this article: %(event)s (%(who)s, %(time)s).") % words
