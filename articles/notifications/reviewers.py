"""Notifying the users who may decide about a text that waits for a reviewer."""

from __future__ import annotations

from django.contrib.auth import get_user_model

from articles.audit import FIRST_STAGE_AGAIN, Action, contributor_ids, people_behind
from articles.events import EntriesRecorded
from articles.models import Article, AuditEntry, Notification, ReviewProgress
from articles.notifications.notify import Message, send
from articles.permissions import REVIEW
from articles.workflow import Transition, Verdict
from scheduling.database import read_database_clock

Status = Article.Status

_WAITS = (Status.MANUAL_REVIEW.name.lower(), Verdict.UNSURE)
"""What an entry says of an update that waits for a reviewer."""
_DECIDED = (Action.PASSED_STAGE, Transition.APPROVE, Transition.REJECT)


def notify_reviewers(event: EntriesRecorded) -> None:
    """Notify those who may decide at the review stage that a text has come to, in the caller's transaction.

    Notifications about a text that has been decided, or is back at the first stage, count as read.
    """
    entries = event.entries
    decided = [entry.article_id for entry in entries if entry.action in _DECIDED or FIRST_STAGE_AGAIN in entry.details]
    if decided:
        done = Notification.objects.filter(article__in=decided, kind=Notification.Kind.SUBMITTED).unread()
        done.update(read_at=read_database_clock())
    come = {entry.article_id or 0: entry for entry in entries if _has_come(entry)}
    if come:
        articles = Article.objects.filter(pk__in=come).select_related("update__draft")
        send([_message(article, come[article.pk]) for article in articles])


def _has_come(entry: AuditEntry) -> bool:
    """Whether the entry is about a text coming to a review stage."""
    if entry.action == Action.PASSED_STAGE or FIRST_STAGE_AGAIN in entry.details:
        return True
    if entry.action not in (Transition.SUBMIT, Action.REVIEWED, Action.PULLED_BACK):
        return False
    update = entry.details.get("update")
    return update in _WAITS if update else entry.new_status == Status.MANUAL_REVIEW


def _message(article: Article, entry: AuditEntry) -> Message:
    progress = ReviewProgress.of(article)
    users = get_user_model()._default_manager.with_perm(REVIEW, include_superusers=False).filter(is_staff=True)
    if progress.stage.group_id is not None:
        users = users.filter(groups=progress.stage.group_id)
    barred = people_behind({entry.user_id, *progress.approvals.values(), *contributor_ids(article)})
    draft = article.pending_update.draft if article.pending_update else None
    title = draft.title if draft else article.title
    return Message(Notification.Kind.SUBMITTED, article.pk, title, frozenset({user.pk for user in users} - barred))
