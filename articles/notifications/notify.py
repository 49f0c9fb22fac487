"""Telling people what became of their articles, and what needs them.

A notice is written in the transaction of what it tells, from the audit entry of that. Mails are errands of the
engine: sent after the commit, in a thread of their own, and again if the mail server was away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import F, QuerySet, Value

from articles.models import Article, AuditEntry, NewId, Notification, NotificationPreference, Release, insert_for_each
from articles.task_types import MAIL
from scheduling.services import add_tasks, database_now, delete_by_ids, read_database_clock

Kind = Notification.Kind
Status = Article.Status


ALARMED = ("articles.schedule_article", "scheduling.operate_tasks")
"""Who has one of these permissions is told when the clock's work goes wrong."""

_AT_ONCE = 1000  # rows in one statement

_BY_ACTION: Mapping[str, Notification.Kind] = {
    "approve": Kind.APPROVED,
    "reject": Kind.REJECTED,
    "publish_now": Kind.PUBLISHED,
    "publish_update": Kind.PUBLISHED,
    "published": Kind.PUBLISHED,
    "updated": Kind.PUBLISHED,
    "pulled_back": Kind.PULLED_BACK,
}
_BY_VERDICT: Mapping[int, Notification.Kind] = {
    Status.REJECTED: Kind.REJECTED,
    Status.APPROVED: Kind.APPROVED,
    Status.MANUALLY_APPROVED: Kind.APPROVED,
}


@dataclass(frozen=True)
class Message:
    """What is to be told to some people, by their ids, about an article or a release."""

    kind: Notification.Kind
    article_id: int | None
    title: str
    users: frozenset[int]
    reason: str = ""
    occasion: str = ""
    release_id: int | None = None


def notify_of_entries(entries: Sequence[AuditEntry]) -> None:
    """Tell the authors, in the caller's transaction; nobody is told what he has just done himself."""
    told = {entry.article_id or 0: (entry, kind) for entry in entries if (kind := _kind(entry))}
    if not told:
        return
    authors = Article.objects.filter(pk__in=told, author__isnull=False).values_list("pk", "author")
    tell(_of_author(pk, author, *told[pk]) for pk, author in authors if author != told[pk][0].user_id)


def notify_authors(action: str, articles: Mapping[int, Article]) -> None:
    """Tell the authors what the clock does to their articles, in the caller's transaction.

    One statement for all who do not want it by mail: at the full hour there are thousands.
    """
    if not (kind := _BY_ACTION.get(action)):
        return
    authors = [(one, one.author_id) for one in articles.values() if one.author_id]
    deliveries = _deliveries({author for _one, author in authors})
    mailed = {user for user, delivery in deliveries.items() if kind in delivery.mail}
    tell(Message(kind, one.pk, one.title, frozenset({author})) for one, author in authors if author in mailed)
    if shown := {user for user, delivery in deliveries.items() if kind in delivery.desk} - mailed:
        _show(kind, Article.objects.filter(pk__in=articles, author__in=shown))


def _show(kind: Notification.Kind, articles: QuerySet[Article]) -> None:
    """Write a notice in the desk of the author of each."""
    insert_for_each(
        Notification,
        articles,
        id=NewId(),
        user_id=F("author"),
        kind=Value(kind),
        article_id=F("pk"),
        article_title=F("title"),
        reason=Value(""),
        occasion=Value(""),
        in_desk=Value(True),  # noqa: FBT003 (it is no argument, but a column)
        at=database_now(),
    )


def _of_author(article_id: int, author: int | None, entry: AuditEntry, kind: Notification.Kind) -> Message:
    return Message(kind, article_id, entry.article_title, frozenset({author or 0}), entry.reason)


def notify_of_release(kind: Notification.Kind, release: Release, *, by: Any = None) -> None:
    """Tell everybody whom a release concerns: its maker, the authors, and who looks after the clock's work.

    Authors hear by notices of their own what was published.
    """
    concerned = {*alarmed(), release.created_by_id or 0}
    if kind != Kind.PUBLISHED:
        authors = release.members.filter(article__author__isnull=False).values_list("article__author", flat=True)
        concerned.update(pk for pk in authors if pk)
    concerned.discard(by.pk if by else 0)
    tell([Message(kind, None, release.name, frozenset(concerned), release.reason, release_id=release.pk)])


def tell(news: Iterable[Message]) -> None:
    """Write the notices that people want, and have those mailed that they want mailed; a few statements in all."""
    items = list(news)
    deliveries = _deliveries({user for item in items for user in item.users})
    if not deliveries:
        return
    now = read_database_clock()
    notifications, mails = [], []
    for item in items:
        for user in item.users & deliveries.keys():
            in_desk, is_mailed = item.kind in deliveries[user].desk, item.kind in deliveries[user].mail
            if in_desk or is_mailed:
                notifications.append(_notification(item, user, at=now, in_desk=in_desk))
            if is_mailed:
                mails.append(str(notifications[-1].pk))
    Notification.objects.bulk_create(notifications, batch_size=1000)
    add_tasks({"task_type": MAIL, "execute_time": now, "parameters": {"notice": pk}, "key": pk} for pk in mails)


def remove_orphaned_notifications() -> int:
    """Remove what was written for people just as they were deleted; returns how many notices that were.

    The database checks no foreign key when a notice is written, so that publishing waits for no row of a person.
    """
    named = set(Notification.objects.order_by().values_list("user_id", flat=True).distinct())
    there = get_user_model()._default_manager.filter(pk__in=named).values_list("pk", flat=True)
    gone = list(
        Notification.objects.filter(user_id__in=named.difference(there)).values_list("pk", flat=True)[:_AT_ONCE]
    )
    delete_by_ids(Notification, gone)
    return len(gone)


def alarmed() -> frozenset[int]:
    """The ids of those who look after the clock's work; the administrators if there is nobody else."""
    users = get_user_model()._default_manager
    found = {user.pk for permission in ALARMED for user in users.with_perm(permission, include_superusers=False)}
    return frozenset(found or users.filter(is_superuser=True, is_active=True).values_list("pk", flat=True))


def _kind(entry: AuditEntry) -> Notification.Kind | None:
    if entry.action != "reviewed":
        return _BY_ACTION.get(entry.action)
    update = entry.details.get("update")
    return _BY_VERDICT.get(getattr(Status, update.upper()) if update else entry.new_status or Status.DRAFT)


@dataclass(frozen=True)
class Delivery:
    """The kinds of notices that somebody wants to see in the desk, and by mail if he has an address."""

    desk: Collection[str]
    mail: Collection[str]


def _deliveries(ids: Collection[int]) -> Mapping[int, Delivery]:
    """What those wish who are still there; the default for who has not chosen."""
    if not ids:
        return {}
    users = get_user_model()._default_manager.filter(pk__in=ids, is_active=True)
    choices = {choice.pk: choice for choice in NotificationPreference.objects.filter(user__in=ids)}
    deliveries = {}
    for user, address in users.values_list("pk", "email"):
        chosen = choices.get(user) or NotificationPreference()
        deliveries[user] = Delivery(chosen.desk, chosen.mail if address else ())
    return deliveries


def _notification(item: Message, user: int, *, at: datetime, in_desk: bool) -> Notification:
    return Notification(
        user_id=user,
        kind=item.kind,
        article_id=item.article_id,
        article_title=item.title,
        release_id=item.release_id,
        reason=item.reason[:500],
        occasion=item.occasion,
        in_desk=in_desk,
        at=at,
    )
