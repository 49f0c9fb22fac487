"""Making and revoking links by which outsiders read a text before it is published."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from articles.audit import CHANGE, EDIT_ANY, Actor, record, require
from articles.exceptions import ArticleError, RevisionGone
from articles.models import Article, PreviewLink, Revision
from articles.publishing.revisions import newest
from articles.publishing.transitions import lock
from scheduling.services import database_now, read_database_clock, retried

LINK, UNLINK = "preview_link", "preview_revoked"
"""What the audit record calls the two."""

LONGEST = timedelta(days=30)


class LastsTooLong(ArticleError):
    """A link must end."""

    code = "lasts_too_long"
    message = _("A preview link lasts for 30 days at most.")


@retried
def make_preview_link(
    article: Article,
    *,
    by: Actor,
    lasts: timedelta,
    revision: int | None = None,
    is_following: bool = False,
    note: str = "",
) -> PreviewLink:
    """A link to one `revision`, the newest unless told otherwise, or to the newest text whatever it becomes.

    Raises `NotAllowed`, `LastsTooLong` and `RevisionGone`.
    """
    require(CHANGE, by, article)
    if not timedelta() < lasts <= LONGEST:
        raise LastsTooLong
    now = read_database_clock()
    link = PreviewLink(article=article, note=note, created_at=now, expires_at=now + lasts)
    link.revision = None if is_following else _shown(article, revision)
    link.created_by_id = by.pk
    link.save(force_insert=True)
    number = link.revision.number if link.revision else None
    record(LINK, article=article, by=by, revision=number, link=str(link.pk), until=link.expires_at.isoformat())
    return link


def _shown(article: Article, number: int | None) -> Revision:
    if number is None:
        lock(article)
        return newest(article)
    found = article.revisions.filter(number=number).first()
    if found is None:
        raise RevisionGone
    return found


def open_link(token: str) -> PreviewLink | None:
    """The link whose address ends in `token`, with its text; None if it leads nowhere now."""
    link = PreviewLink.objects.signed(token).open_at(database_now()).with_text().select_related("created_by").first()
    return link if link is not None and is_backed(link) else None


def is_backed(link: PreviewLink) -> bool:
    """Whether its maker still works here and may still write the article; approval alone takes that from no link."""
    maker = link.created_by
    if maker is None or not (maker.is_active and maker.is_staff and maker.has_perm(CHANGE)):
        return False
    return maker.has_perm(EDIT_ANY) or link.article.author_id == maker.pk


@retried
def revoke_preview_link(link: PreviewLink, *, by: Actor) -> None:
    """From now on it leads nowhere; revoking twice changes nothing. Raises `NotAllowed`."""
    require(CHANGE, by, link.article)
    now = read_database_clock()
    if PreviewLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=now):
        record(UNLINK, article=link.article, by=by, link=str(link.pk))
    link.refresh_from_db()
