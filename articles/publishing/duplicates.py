"""Duplicating articles."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from articles.audit import Actor, writers
from articles.limits import TITLE_LENGTH
from articles.models import Article, Channel
from articles.permissions import ADD, require
from articles.publishing.edits import create
from articles.publishing.resolve import tags_named
from articles.publishing.revisions import newest
from articles.publishing.transitions import lock
from scheduling.database import retried


@retried
def duplicate(article: Article, *, by: Actor) -> Article:
    """Store a new draft by `by` with the newest text of `article`, its cover, tags and channel; returns it.

    It has no times, approvals, notes or slug of the original. Those who wrote the text since its last approval count as
    contributors to the draft, too. A disabled channel is left out. Raises `NotAllowed`, `ArticleGone`, and what
    `create` raises.
    """
    require(ADD, by)
    with transaction.atomic(savepoint=False):
        lock(article)
        revision = newest(article)
        values = {**revision.text.columns, "slug": "", "title": _title_of_copy(revision.title)}
        channel = Channel.objects.enabled().filter(pk=revision.text.channel_id or 0).first()
        values["channel_id"] = channel and channel.pk
        copy = Article(**values, author_id=by.pk)
        tags = tags_named(revision.tags).values()
        create(copy, by=by, tags=list(tags), written_by=writers(article, revision), copy_of=article.pk)
    return copy


def _title_of_copy(title: str) -> str:
    """Marked, so that it is not mistaken for the original; the original's headline is shortened if it must be."""
    mark = len(_("%(title)s (copy)") % {"title": ""})
    return _("%(title)s (copy)") % {"title": title[: TITLE_LENGTH - mark]}
