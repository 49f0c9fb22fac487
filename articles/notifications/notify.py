"""Writing notifications for authors and for the users responsible.

A notification is written from an audit entry, in the same transaction. Mails are at-least-once tasks: sent after the
commit, in a separate thread, and retried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce

from articles.audit import Action
from articles.events import EntriesRecorded
from articles.models import Article, AuditEntry, Notification, NotificationPreference, NotificationQuerySet, Release
from articles.task_types import MAIL, NOTIFY
from articles.workflow import Transition
from scheduling.database import (
    NewId,
    Statement,
    among,
    compiled_for,
    database_now,
    delete_by_ids,
    insert_statement,
    read_database_clock,
    write_for,
)
from scheduling.services import add_task, add_tasks

Kind = Notification.Kind
Status = Article.Status


ALERTED = ("articles.schedule_article", "scheduling.operate_tasks")
"""Users with one of these permissions are notified of failed and overdue tasks."""

_AT_ONCE = 1000  # rows in one statement
_AT_THE_SAME_TIME = 20  # articles whose authors are notified in the transaction that changes them
_SOON = timedelta(seconds=6)  # after which the authors of more articles are notified: by then 100,000 are published
_CHOSEN = ("notification_preference__desk", "notification_preference__mail")

_BY_ACTION: Mapping[str, Notification.Kind] = {
    Transition.APPROVE: Kind.APPROVED,
    Transition.REJECT: Kind.REJECTED,
    Transition.PUBLISH_NOW: Kind.PUBLISHED,
    Transition.PUBLISH_UPDATE: Kind.PUBLISHED,
    Action.PUBLISHED: Kind.PUBLISHED,
    Action.UPDATED: Kind.PUBLISHED,
    Action.PULLED_BACK: Kind.PULLED_BACK,
}
_BY_VERDICT: Mapping[int, Notification.Kind] = {
    Status.REJECTED: Kind.REJECTED,
    Status.APPROVED: Kind.APPROVED,
    Status.MANUALLY_APPROVED: Kind.APPROVED,
}


@dataclass(frozen=True)
class Message:
    """A notification for some users, by their ids, about an article or a release."""

    kind: Notification.Kind
    article_id: int | None
    title: str
    users: frozenset[int]
    reason: str = ""
    occasion: str = ""
    release_id: int | None = None
    at: datetime | None = None  #: when it happened; None: now


def notify_of_entries(event: EntriesRecorded) -> None:
    """Notify the authors, in the caller's transaction, except of their own actions."""
    found = {entry.article_id or 0: (entry, kind) for entry in event.entries if (kind := _kind(entry))}
    if not found:
        return
    authors = Article.objects.filter(pk__in=found, author__isnull=False).values_list("pk", "author")
    send(_of_author(pk, author, *found[pk]) for pk, author in authors if author != found[pk][0].user_id)


def notify_authors_of_due(action: str, article_ids: Collection[int]) -> None:
    """Notify the authors of articles that the system changed, in the caller's transaction.

    For many articles it adds a task that does it shortly after: at the full hour, publishing comes first.
    """
    if action not in _BY_ACTION:
        return
    if action == Action.UPDATED:
        delete_unread(_overdue().filter(article__in=among(article_ids)))
    if len(article_ids) <= _AT_THE_SAME_TIME:
        notify_authors(action, article_ids)
        return
    ids, soon = sorted(article_ids), read_database_clock() + _SOON
    for start in range(0, len(ids), _AT_ONCE):
        parameters = {"action": action, "articles": ids[start : start + _AT_ONCE]}
        add_task(NOTIFY, execute_time=soon, parameters=parameters)


def notify_authors(action: str, article_ids: Collection[int]) -> None:
    """Notify the authors of these articles, in the caller's transaction.

    One statement for all authors who do not want it by mail: at the full hour there are thousands.
    """
    kind = _BY_ACTION[action]
    mailed, shown = [], []
    for article, address, desk, mail in compiled_for(_preferences_of_authors, article_ids):
        delivery = _delivery(address, desk, mail)
        if kind in delivery.mail:
            mailed.append(article)
        elif kind in delivery.desk:
            shown.append(article)
    if mailed:
        found = Article.objects.filter(pk__in=among(mailed)).values_list("pk", "title", "author", "published_at")
        send(
            Message(kind, pk, title, frozenset({author or 0}), at=since if action == Action.PUBLISHED else None)
            for pk, title, author, since in found
        )
    write_for(_notifications_of_authors, shown, kind, action)


def _preferences_of_authors(ids: Collection[int]) -> QuerySet[Article, Any]:
    """Each article with an active author, and what the author prefers."""
    articles = Article.objects.filter(pk__in=among(ids), author__is_active=True).order_by()
    return articles.values_list("pk", "author__email", *(f"author__{name}" for name in _CHOSEN))


def _notifications_of_authors(ids: Collection[int], kind: Notification.Kind, action: str) -> Statement:
    """Write a notification for the author of each, for the admin; that one is live, as of when readers had it."""
    return insert_statement(
        Notification,
        Article.objects.filter(pk__in=among(ids)),
        id=NewId(),
        user_id=F("author"),
        kind=Value(kind),
        article_id=F("pk"),
        article_title=F("title"),
        reason=Value(""),
        occasion=Value(""),
        in_desk=Value(True),  # noqa: FBT003 (it is no argument, but a column)
        at=Coalesce("published_at", database_now()) if action == Action.PUBLISHED else database_now(),
    )


def _of_author(article_id: int, author: int | None, entry: AuditEntry, kind: Notification.Kind) -> Message:
    return Message(kind, article_id, entry.article_title, frozenset({author or 0}), entry.reason)


def notify_of_release(kind: Notification.Kind, release: Release, *, by: Any = None) -> None:
    """Notify the users whom a release concerns: its creator, the authors, and those responsible for scheduling.

    Authors have notifications of their own about published articles.
    """
    concerned = {*responsible_users(), release.created_by_id or 0}
    delete_unread(_overdue().filter(release=release.pk))
    if kind != Kind.PUBLISHED:
        authors = release.members.filter(article__author__isnull=False).values_list("article__author", flat=True)
        concerned.update(pk for pk in authors if pk)
    concerned.discard(by.pk if by else 0)
    send([Message(kind, None, release.name, frozenset(concerned), release.reason[:500], release_id=release.pk)])


def notify_users(
    kind: Notification.Kind, article: Article, users: Collection[int], *, by: Any, reason: str = ""
) -> None:
    """Notify these users, given by their ids, about an article, in the caller's transaction; `by` is left out."""
    if others := frozenset(users) - {by.pk}:
        send([Message(kind, article.pk, article.title, others, reason[:500])])


def send(messages: Iterable[Message]) -> None:
    """Write notifications and add their mail tasks by the users' preferences, in a few statements."""
    items = list(messages)
    deliveries = _deliveries({user for item in items for user in item.users})
    if not deliveries:
        return
    now = read_database_clock()
    notifications, mails = [], []
    for item in items:
        for user in item.users & deliveries.keys():
            in_desk, is_mailed = item.kind in deliveries[user].desk, item.kind in deliveries[user].mail
            if in_desk or is_mailed:
                notifications.append(_notification(item, user, at=item.at or now, in_desk=in_desk))
            if is_mailed:
                mails.append(str(notifications[-1].pk))
    Notification.objects.bulk_create(notifications, batch_size=1000)
    add_tasks({"task_type": MAIL, "execute_time": now, "parameters": {"notice": pk}, "key": pk} for pk in mails)


def _overdue() -> NotificationQuerySet:
    return Notification.objects.filter(kind=Kind.OVERDUE)


def delete_unread(notifications: NotificationQuerySet) -> None:
    """Delete those of these notifications that are unread: what they say is true no longer."""
    delete_by_ids(Notification, list(notifications.unread().values_list("pk", flat=True)[:_AT_ONCE]))


def remove_orphaned_notifications() -> int:
    """Delete notifications of deleted users; returns their number.

    The table has no foreign key constraint to users, so that publishing never waits for a lock on a user.
    """
    named = set(Notification.objects.order_by().values_list("user_id", flat=True).distinct())
    there = get_user_model()._default_manager.filter(pk__in=named).values_list("pk", flat=True)
    gone = list(
        Notification.objects.filter(user_id__in=named.difference(there)).values_list("pk", flat=True)[:_AT_ONCE]
    )
    delete_by_ids(Notification, gone)
    return len(gone)


def responsible_users() -> frozenset[int]:
    """The ids of the users with a permission of `ALERTED`, or else of the administrators."""
    users = get_user_model()._default_manager
    found = {user.pk for permission in ALERTED for user in users.with_perm(permission, include_superusers=False)}
    return frozenset(found or users.filter(is_superuser=True, is_active=True).values_list("pk", flat=True))


def _kind(entry: AuditEntry) -> Notification.Kind | None:
    if entry.action != Action.REVIEWED:
        return _BY_ACTION.get(entry.action)
    update = entry.details.get("update")
    return _BY_VERDICT.get(getattr(Status, update.upper()) if update else entry.new_status or Status.DRAFT)


@dataclass(frozen=True)
class ChosenWays:
    """The kinds of notifications that a user wants in the admin, and by mail if the user has an address."""

    desk: Collection[str]
    mail: Collection[str]


def _deliveries(ids: Collection[int]) -> Mapping[int, ChosenWays]:
    """The preferences of active users, or else the default."""
    users = get_user_model()._default_manager.filter(pk__in=ids, is_active=True)
    return {user: _delivery(*chosen) for user, *chosen in users.values_list("pk", "email", *_CHOSEN)}


def _delivery(address: str, desk: Collection[str] | None, mail: Collection[str] | None) -> ChosenWays:
    """What a user prefers; without preferences the default."""
    if desk is None or mail is None:
        default = NotificationPreference()
        desk, mail = default.desk, default.mail
    return ChosenWays(desk, mail if address else ())


def _notification(item: Message, user: int, *, at: datetime, in_desk: bool) -> Notification:
    return Notification(
        user_id=user,
        kind=item.kind,
        article_id=item.article_id,
        article_title=item.title,
        release_id=item.release_id,
        reason=item.reason,
        occasion=item.occasion,
        in_desk=in_desk,
        at=at,
    )
