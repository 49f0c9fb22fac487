"""The effects of a release on its members, and rolling them back. The caller has locked all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from django.db.models import F

from articles.audit import (
    WENT_LIVE_OVER,
    Action,
    Actor,
    StateSnapshot,
    record_many,
    recorded,
)
from articles.events import ArticlesPublished, ArticlesUnpublished, ArticlesVanishing, emit
from articles.fronts import publish_versions, roll_back_versions
from articles.images import update_uses
from articles.models import Article, AuditEntry, Correction, Release, ReleaseMember, Update
from articles.publishing import (
    adopt_all,
    date_corrections,
    follow_clock,
    pin_all,
    pinned,
    put_into_columns,
    refuse_embargo,
    store_article,
    store_update,
    sync_tasks,
)
from articles.search import index
from scheduling.database import update_by_ids

MemberAction = ReleaseMember.Action
Status = Article.Status


def apply_release(release: Release, members: Sequence[ReleaseMember], *, at: datetime, by: Actor | None) -> None:
    """Apply the action of every member at the instant `at`, and store its earlier state in the member.

    Not by `save()`, whose receivers would cancel the task that may be running.
    """
    for action, (effect, name) in _EFFECTS.items():
        chosen = [member for member in members if member.action == action]
        for member in chosen:
            follow_clock(article_of(member), at)
        states = [StateSnapshot.of(article_of(member)) for member in chosen]
        details = _went_live_over(chosen) if action == MemberAction.UPDATE else None
        effect(release, chosen, at)
        changes = zip(map(article_of, chosen), states, strict=True)
        record_many(name, list(changes), by=by, release=release, at=at, details=details)
    states_before = ((one.pk, one.old_status, one.old_revision, one.title) for one in members)
    update_by_ids(ReleaseMember, ["old_status", "old_revision", "title"], states_before)
    update_uses([article_of(member).pk for member in members if member.action == MemberAction.UPDATE])
    sync_tasks([article_of(member).pk for member in members])
    publish_versions(release, at=at, by=by)


def _went_live_over(members: Sequence[ReleaseMember]) -> dict[int, dict[str, str]]:
    """What an update that goes live by itself has in its entry, by the id of the article."""
    articles = map(article_of, members)
    return {article.pk: {WENT_LIVE_OVER: article.changed_at.isoformat()} for article in articles}


def article_of(member: ReleaseMember) -> Article:
    """The article of a member that has passed the preflight."""
    assert member.article is not None  # noqa: S101 (a deleted one is a blocking issue)
    return member.article


def _publish(release: Release, members: Sequence[ReleaseMember], at: datetime) -> None:
    for member in members:
        article = article_of(member)
        member.old_status, member.title = article.status, article.title
        article.status, article.publish_at = Status.PUBLISHED, release.publish_at
        article.published_at = article.cleared_at = at  # a late release stands where readers got it
    ids = [article_of(member).pk for member in members]
    times = {"publish_at": release.publish_at, "published_at": at, "cleared_at": at, "text_changed_at": at}
    Article.objects.filter(pk__in=ids).update(status=Status.PUBLISHED, **times)
    emit(ArticlesPublished(ids))


def _update(release: Release, members: Sequence[ReleaseMember], at: datetime) -> None:
    articles = {article_of(member).pk: article_of(member) for member in members}
    pin_all(list(articles.values()))
    for member in members:
        article = article_of(member)
        member.old_status, member.title, member.old_revision = article.status, article.title, article.revision
    adopt_all([article.update for article in articles.values()], articles, dict.fromkeys(articles, at))
    index(articles)
    emit(ArticlesPublished(articles))


def _unpublish(release: Release, members: Sequence[ReleaseMember], at: datetime) -> None:
    for member in members:
        article = article_of(member)
        member.old_status, member.title = article.status, article.title
        article.status = Status.UNPUBLISHED
        Article.objects.filter(pk=article.pk).update(status=article.status, published_at=article.published_at)
    emit(ArticlesUnpublished([article_of(member).pk for member in members]))


_EFFECTS: Mapping[ReleaseMember.Action, tuple[Callable[[Release, Sequence[ReleaseMember], datetime], None], str]] = {
    MemberAction.PUBLISH: (_publish, Action.PUBLISHED),
    MemberAction.UPDATE: (_update, Action.UPDATED),
    MemberAction.UNPUBLISH: (_unpublish, Action.UNPUBLISHED),
}
"""Action to its function and its name in the audit log."""


def roll_back(release: Release, members: Sequence[ReleaseMember], *, at: datetime, by: Actor) -> None:
    """Restore the state of every member before the release, except of those retracted, deleted or no longer approved.

    Raises `UnderEmbargo` for an unpublished article that readers may not see now.
    """
    gone = {member.article_id for member in members if member.action == MemberAction.PUBLISH and member.article_id}
    emit(ArticlesVanishing(gone))
    restored = [member for member in members if _can_be_restored(release, member, at)]
    for member in restored:
        article = article_of(member)
        with recorded(Action.TAKEN_BACK, article, by=by, release=release):
            _UNDOINGS[MemberAction(member.action)](release, member, article, at)
            store_article(article)
    emit(ArticlesPublished({article_of(member).pk for member in restored} - gone))
    roll_back_versions(release, at=at, by=by)


def _can_be_restored(release: Release, member: ReleaseMember, at: datetime) -> bool:
    """Whether its status still allows that, and, if it was unpublished, its own time to be unpublished is not past.

    The earlier text of an update does not move to another installation with its release.
    """
    article = member.article
    if article is None or article.status not in Status.passed():
        return False
    if member.action == MemberAction.UPDATE and member.old_revision is None:
        return False
    is_over = article.unpublish_at is not None and article.unpublish_at <= at
    return member.action != MemberAction.UNPUBLISH or (_is_as_left_by(release, article) and not is_over)


def _undo_publish(release: Release, member: ReleaseMember, article: Article, at: datetime) -> None:
    article.status = member.old_status or Status.MANUALLY_APPROVED
    article.publish_at = article.published_at = None


def _undo_update(release: Release, member: ReleaseMember, article: Article, at: datetime) -> None:
    """Restore the earlier text. The released one, or a newer one, stays as an approved update."""
    live = pinned(article)
    before = article.revisions.get(number=member.old_revision or 0)
    if before.digest == live.digest:
        return
    update = article.pending_update or Update(article=article)
    update.approved, update.publish_at = update.approved or live, None
    store_update(update)
    put_into_columns(article, before)
    article.text_changed_at = at
    Correction.objects.filter(article=article, published_at__gte=release.published_at).delete()


def _undo_unpublish(release: Release, member: ReleaseMember, article: Article, at: datetime) -> None:
    refuse_embargo(article, at)
    date_corrections(article, at=at)
    article.status = Status.PUBLISHED


def _is_as_left_by(release: Release, article: Article) -> bool:
    """Whether it is unpublished by the release: someone may have unpublished it since, for another reason."""
    if article.status != Status.UNPUBLISHED:
        return False
    entries = AuditEntry.objects.of(article).filter(new_status__isnull=False)
    last = entries.exclude(old_status=F("new_status")).first()
    return last is None or last.release_id == release.pk


_UNDOINGS: Mapping[ReleaseMember.Action, Callable[[Release, ReleaseMember, Article, datetime], None]] = {
    MemberAction.PUBLISH: _undo_publish,
    MemberAction.UPDATE: _undo_update,
    MemberAction.UNPUBLISH: _undo_unpublish,
}
