"""Telling people what became of their articles, and what needs them.

A notice is written in the transaction of what it tells, from the audit entry of that. Mails are errands of the
engine: sent after the commit, in a thread of their own, and again if the mail server was away.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model

from articles.models import Article, AuditEntry, Notice, NoticeChoice, Release
from articles.models.notice import by_default_in_desk, by_default_mailed
from scheduling.services import add_tasks, read_database_clock

Kind = Notice.Kind
Status = Article.Status

MAIL = "articles.mail_notice"

ALARMED = ("articles.schedule_article", "scheduling.operate_tasks")
"""Who has one of these permissions is told when the clock's work goes wrong."""

_BY_ACTION: Mapping[str, Notice.Kind] = {
    "approve": Kind.APPROVED,
    "refuse": Kind.REFUSED,
    "publish_now": Kind.PUBLISHED,
    "publish_update": Kind.PUBLISHED,
    "published": Kind.PUBLISHED,
    "updated": Kind.PUBLISHED,
    "pulled_back": Kind.PULLED_BACK,
}
_BY_VERDICT: Mapping[int, Notice.Kind] = {
    Status.REJECTED: Kind.REFUSED,
    Status.APPROVED: Kind.APPROVED,
    Status.MANUALLY_APPROVED: Kind.APPROVED,
}


@dataclass(frozen=True)
class News:
    """What is to be told to some people, by their ids, about an article or a release."""

    kind: Notice.Kind
    article_id: int | None
    title: str
    people: frozenset[int]
    reason: str = ""
    occasion: str = ""
    release_id: int | None = None


def tell_of(entries: Sequence[AuditEntry]) -> None:
    """Tell the authors, in the caller's transaction; nobody is told what he has just done himself."""
    told = {entry.article_id or 0: (entry, kind) for entry in entries if (kind := _kind(entry))}
    if not told:
        return
    authors = Article.objects.filter(pk__in=told, author__isnull=False).values_list("pk", "author")
    tell(_of_author(pk, author, *told[pk]) for pk, author in authors if author != told[pk][0].user_id)


def _of_author(article_id: int, author: int | None, entry: AuditEntry, kind: Notice.Kind) -> News:
    return News(kind, article_id, entry.article_title, frozenset({author or 0}), entry.reason)


def tell_of_release(kind: Notice.Kind, release: Release, *, by: Any = None) -> None:
    """Tell everybody whom a release concerns: its maker, the authors, and who looks after the clock's work.

    Authors hear by notices of their own what was published.
    """
    concerned = {*alarmed(), release.made_by_id or 0}
    if kind != Kind.PUBLISHED:
        authors = release.members.filter(article__author__isnull=False).values_list("article__author", flat=True)
        concerned.update(pk for pk in authors if pk)
    concerned.discard(by.pk if by else 0)
    tell([News(kind, None, release.name, frozenset(concerned), release.reason, release_id=release.pk)])


def tell(news: Iterable[News]) -> None:
    """Write the notices that people want, and have those mailed that they want mailed; a few statements in all."""
    items = list(news)
    mailboxes, choices = _people({person for item in items for person in item.people})
    now = read_database_clock() if mailboxes else None
    notices, mails = [], []
    for item in items:
        for person in item.people & mailboxes.keys():
            desk, mail = choices.get(person, (by_default_in_desk(), by_default_mailed()))
            is_mailed = item.kind in mail and bool(mailboxes[person])
            if item.kind in desk or is_mailed:
                notices.append(_notice(item, person, at=now, in_desk=item.kind in desk))
            if is_mailed:
                mails.append(notices[-1])
    Notice.objects.bulk_create(notices, batch_size=1000)
    add_tasks(
        {"task_type": MAIL, "execute_time": now, "parameters": {"notice": str(mail.pk)}, "key": str(mail.pk)}
        for mail in mails
    )


def alarmed() -> frozenset[int]:
    """The ids of those who look after the clock's work; the administrators if there is nobody else."""
    people = get_user_model()._default_manager
    found = {person.pk for permission in ALARMED for person in people.with_perm(permission, include_superusers=False)}
    return frozenset(found or people.filter(is_superuser=True, is_active=True).values_list("pk", flat=True))


def _kind(entry: AuditEntry) -> Notice.Kind | None:
    if entry.action != "reviewed":
        return _BY_ACTION.get(entry.action)
    update = entry.facts.get("update")
    return _BY_VERDICT.get(getattr(Status, update.upper()) if update else entry.new_status or Status.DRAFT)


def _people(ids: Collection[int]) -> tuple[Mapping[int, str], Mapping[int, tuple[list[str], list[str]]]]:
    """Of those who are still there, the addresses; and what they chose, if they did."""
    if not ids:
        return {}, {}
    people = get_user_model()._default_manager.filter(pk__in=ids, is_active=True)
    choices = NoticeChoice.objects.filter(person__in=ids)
    return dict(people.values_list("pk", "email")), {choice.pk: (choice.desk, choice.mail) for choice in choices}


def _notice(item: News, person: int, **values: Any) -> Notice:
    return Notice(
        person_id=person,
        kind=item.kind,
        article_id=item.article_id,
        article_title=item.title,
        release_id=item.release_id,
        reason=item.reason[:500],
        occasion=item.occasion,
        **values,
    )
