"""Autosave and presence: unsaved form content, and who has an article open. Nothing here changes an article."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction

from articles.audit import Actor
from articles.exceptions import NotAllowed, TooLong
from articles.models import Article, Autosave, Presence, SubmittedForm
from articles.permissions import ADD, CHANGE, allows, require
from articles.text import is_kept_if_refused, oversize
from scheduling.database import delete_by_ids, read_database_clock, retried

Typed = Mapping[str, Sequence[str]]

MAX_TYPED = 4_000_000
"""Characters of a form: the longest body with its mark-up, and some more."""

MAX_AUTOSAVES = 50
"""Autosaves of one user; the oldest are deleted first."""


class FormSubmitted(Exception):
    """The form of a window has created an article already."""

    def __init__(self, form: SubmittedForm) -> None:
        super().__init__()
        self.form = form


def submit_form(window: UUID, *, by: Actor, digest: str) -> SubmittedForm:
    """Record that a window submits its form of a new article, in the transaction that creates the article.

    A simultaneous request of the same window waits for that. Raises `FormSubmitted` if it has created one.
    """
    values = {"digest": digest, "submitted_at": read_database_clock()}
    form, is_new = SubmittedForm.objects.get_or_create(user_id=_id(by), window=window, defaults=values)
    if not is_new:
        raise FormSubmitted(form)
    return form


@retried
def save_autosave(window: UUID, article: Article | None, *, by: Actor, typed: Typed, number: int) -> datetime:
    """Store the content of a window's form and return the time; a version older than the stored one is ignored.

    That of a new article belongs to the article that the form has created, if any. Raises `NotAllowed`, also for
    another user's window, and `TooLong`.
    """
    article = article or _created_by(window, by)
    require(CHANGE if article else ADD, by, article)
    if sum(len(text) for texts in typed.values() for text in texts) > MAX_TYPED:
        raise TooLong
    if body := next((text for text in typed.get("body", ()) if not is_kept_if_refused(text)), ""):
        raise TooLong(oversize(body))
    now = read_database_clock()
    values = {"typed": typed, "number": number, "saved_at": now}
    mine = Autosave.objects.filter(pk=window, user=by.pk)
    # Requests of a window may overtake each other: the condition keeps an older one from replacing a later one.
    if not mine.filter(number__lt=number).update(article=article, **values) and not mine.exists():
        _add(Autosave(pk=window, user_id=_id(by), article=article, **values))
        if not mine.exists():
            raise NotAllowed
        _delete_oldest(by)
    return now


def _created_by(window: UUID, by: Actor) -> Article | None:
    """The article that the form of this window has created, if the user may still change it."""
    form = SubmittedForm.objects.select_related("article").filter(user=by.pk, window=window).first()
    return form.article if form and form.article and allows(CHANGE, by, form.article) else None


def _delete_oldest(by: Actor) -> None:
    mine = Autosave.objects.filter(user=by.pk).order_by("-saved_at", "pk")
    delete_by_ids(Autosave, mine.values_list("pk", flat=True)[MAX_AUTOSAVES : MAX_AUTOSAVES + 100])


def drop_autosave(window: UUID, *, by: Actor) -> bool:
    """Delete an autosave of `by`; True if there was one."""
    return bool(Autosave.objects.filter(pk=window, user=by.pk).delete()[0])


def prune_autosaves() -> None:
    """Delete autosaves and records of submitted forms older than a month."""
    now = read_database_clock()
    delete_by_ids(Autosave, Autosave.objects.forgotten(now).values_list("pk", flat=True))
    old = SubmittedForm.objects.filter(submitted_at__lt=now - Autosave.KEPT_FOR)
    delete_by_ids(SubmittedForm, old.values_list("pk", flat=True))


@retried
def mark_present(window: UUID, article: Article, *, by: Actor) -> list[Presence]:
    """Record that a window has the article open, and return the other windows that have."""
    require(CHANGE, by, article)
    now = read_database_clock()
    until = now + Presence.LASTS
    mine = Presence.objects.filter(pk=window, user=by.pk)
    if not mine.update(until=until, article=article):
        _add(Presence(pk=window, article=article, user_id=_id(by), since=now, until=until))
    delete_by_ids(Presence, Presence.objects.filter(until__lt=now - timedelta(minutes=1)).values_list("pk", flat=True))
    others = Presence.objects.filter(article=article).at(now).exclude(pk=window)
    return list(others.select_related("user").order_by("since"))


def leave(window: UUID, *, by: Actor) -> None:
    """Record that the window is closed."""
    Presence.objects.filter(pk=window, user=by.pk).delete()


def _id(by: Actor) -> int:
    assert by.pk is not None  # noqa: S101 (the permission checked before needs an account)
    return int(by.pk)


def _add(row: Autosave | Presence) -> None:
    """Insert a row, unless another request of the same window has just inserted it."""
    try:
        with transaction.atomic():
            # A savepoint around it: after an error MariaDB goes on, but Django would refuse the rest of the
            # transaction.
            row.save(force_insert=True)
    except IntegrityError:
        pass
