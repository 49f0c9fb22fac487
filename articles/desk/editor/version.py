"""The version of what an open article form says about the state of the article, and when that changes."""

from __future__ import annotations

from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext as _

from articles.audit import Actor
from articles.desk.following import POLL, Following, next_change, version_of
from articles.models import Article, AuditEntry, ReaderState, Release, ReleaseMember, State, state_at
from articles.permissions import CHANGE, allows
from articles.publishing import membership
from articles.text import format_time_briefly

CHANGED = "changed"
"""The parameter by which a form says that it was shown with something else than what is stored."""


def following_of(article: Article, by: Actor, now: datetime, *, is_changed: bool = False) -> Following:
    """When the open form of this article asks again, and for what."""
    found, member = state_at(article, now), membership(article)
    release, update = member.release if member else None, article.pending_update
    update_at = update.publish_at if update and update.approved_id else None
    recorded_at = None if found.status == article.status else found.until if _is_over(found) else found.since
    release_at = release.publish_at if release and release.status == Release.Status.SCHEDULED else None
    awaited = (update_at, recorded_at, release_at)
    to_come = (found.next_change, article.unpublish_at, article.embargo_until)
    address = reverse("admin:articles_article_state", args=[article.pk])
    return Following(
        url=f"{address}?{CHANGED}=1" if is_changed else address,
        version=_version(article, by, now, found, member),
        next=next_change(now, to_come, awaited=awaited),
        poll=0 if allows(CHANGE, by, article) else POLL,  # others hear of changes with the presence
        happened=_happened(article, found, now),
    )


def _version(article: Article, by: Actor, now: datetime, found: ReaderState, member: ReleaseMember | None) -> str:
    """Differs when the clock, a person or a worker has changed what the page says."""
    entry = AuditEntry.objects.of(article).values_list("pk", flat=True).first()
    claim = getattr(article, "soft_lock", None)
    update_at = article.pending_update.publish_at if article.pending_update else None
    moments = (article.embargo_until, article.unpublish_at, update_at, found.since, found.until)
    return version_of(
        by.pk,
        entry,
        article.changed_at,
        article.status,
        found.state,
        found.release and found.release.publish_at,
        member and (member.pk, member.release.status, member.release.publish_at, member.release.name),
        claim and (claim.user_id, claim.counts_at(now)),
        [moment and moment <= now for moment in moments],
    )


def _is_over(found: ReaderState) -> bool:
    return found.state is State.UNPUBLISHED


def _happened(article: Article, found: ReaderState, now: datetime) -> dict[str, str]:
    """What has happened to it for readers, a sentence each; by keys that tell one time from the next.

    Until it is live, its revision is named without a sentence: then the first one that readers see is no update.
    """
    updated = _("The update went live at %(time)s.") % {"time": format_time_briefly(article.updated_at)}
    if found.state is State.LIVE and found.since:
        live = _("Went live at %(time)s.") % {"time": format_time_briefly(found.since)}
        return {f"live {found.since.isoformat()}": live, f"update {article.revision}": updated}
    unpublished = _("Unpublished.")
    if found.until and found.until <= now:
        unpublished = _("Unpublished at %(time)s.") % {"time": format_time_briefly(found.until)}
    return {f"update {article.revision}": "", **({"unpublished": unpublished} if _is_over(found) else {})}
