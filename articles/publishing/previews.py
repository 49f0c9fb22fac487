"""Preview links: reading a text before it is published, without an account."""

from __future__ import annotations

from datetime import timedelta

from django.utils.translation import gettext_lazy as _

from articles.audit import Action, Actor, record
from articles.exceptions import ArticleError, RevisionGone
from articles.limits import PREVIEW_DAYS
from articles.models import Article, PreviewLink, Revision
from articles.permissions import CHANGE, EDIT_ANY, may_act_without_session, require
from articles.publishing.revisions import newest
from articles.publishing.transitions import lock
from scheduling.database import database_now, read_database_clock, retried

MAX_PREVIEW_LIFETIME = timedelta(days=PREVIEW_DAYS)


class LastsTooLong(ArticleError):
    """The link would last too long."""

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
    """Create a link to one `revision`, by default the newest, or (`is_following`) always to the newest text.

    Raises `NotAllowed`, `LastsTooLong` and `RevisionGone`.
    """
    require(CHANGE, by, article)
    if not timedelta() < lasts <= MAX_PREVIEW_LIFETIME:
        raise LastsTooLong
    now = read_database_clock()
    link = PreviewLink(article=article, note=note, created_at=now, expires_at=now + lasts)
    link.revision = None if is_following else _shown(article, revision)
    link.created_by_id = by.pk
    link.save(force_insert=True)
    number = link.revision.number if link.revision else None
    record(
        Action.PREVIEW_LINK,
        article=article,
        by=by,
        revision=number,
        link=str(link.pk),
        until=link.expires_at.isoformat(),
    )
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
    """The valid link whose address ends in `token`, with its text; None without one."""
    link = PreviewLink.objects.signed(token).open_at(database_now()).with_text().select_related("created_by").first()
    return link if link is not None and is_creator_authorised(link) else None


def is_creator_authorised(link: PreviewLink) -> bool:
    """Whether its creator is still active staff, with a required second factor, who may edit the article.

    Approval of the text does not matter.
    """
    creator = link.created_by
    if creator is None or not (may_act_without_session(creator) and creator.has_perm(CHANGE)):
        return False
    return creator.has_perm(EDIT_ANY) or link.article.author_id == creator.pk


@retried
def revoke_preview_link(link: PreviewLink, *, by: Actor) -> None:
    """Make the link invalid; revoking twice changes nothing. Raises `NotAllowed`."""
    require(CHANGE, by, link.article)
    now = read_database_clock()
    if PreviewLink.objects.filter(pk=link.pk, revoked_at__isnull=True).update(revoked_at=now):
        record(Action.PREVIEW_REVOKED, article=link.article, by=by, link=str(link.pk))
    link.refresh_from_db()
