"""Making and revoking links by which outsiders read a text before it is published."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from articles.exceptions import ArticleError, RevisionGone
from articles.models import Article, PreviewLink
from articles.services.recording import Person, record
from articles.services.rights import CHANGE, require
from scheduling.services import read_database_clock, retried

LINK, UNLINK = "preview_link", "preview_revoked"
"""What the audit record calls the two."""

LONGEST = timedelta(days=30)


class LastsTooLong(ArticleError):
    """A link must end."""

    code = "lasts_too_long"
    message = _("A preview link lasts for 30 days at most.")


@retried
def make_preview_link(
    article: Article, *, by: Person, lasts: timedelta, revision: int | None = None, note: str = ""
) -> PreviewLink:
    """A link to the newest text, whatever it becomes, or to one `revision` alone.

    Raises `NotAllowed`, `LastsTooLong` and `RevisionGone`.
    """
    require(CHANGE, by, article)
    if not timedelta() < lasts <= LONGEST:
        raise LastsTooLong
    shown = article.revisions.filter(number=revision).first() if revision is not None else None
    if revision is not None and shown is None:
        raise RevisionGone
    now = read_database_clock()
    link = PreviewLink(article=article, revision=shown, note=note, made_at=now, expires_at=now + lasts)
    link.made_by_id = by.pk
    link.save(force_insert=True)
    record(LINK, article=article, by=by, revision=revision, link=str(link.pk), until=link.expires_at.isoformat())
    return link


@retried
def revoke_preview_link(link: PreviewLink, *, by: Person) -> None:
    """From now on it leads nowhere; revoking twice changes nothing. Raises `NotAllowed`."""
    require(CHANGE, by, link.article)
    now = read_database_clock()
    if PreviewLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=now):
        record(UNLINK, article=link.article, by=by, link=str(link.pk))
    link.refresh_from_db()
