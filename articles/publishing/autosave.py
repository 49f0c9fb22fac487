"""Keeping what is being written, and telling who writes. Nothing here changes an article, live or approved or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.db import IntegrityError, transaction

from articles.audit import ADD, CHANGE, Actor, require
from articles.exceptions import TooLong
from articles.models import Article, Autosave, Presence
from scheduling.services import delete_by_ids, read_database_clock, retried

Typed = Mapping[str, Sequence[str]]

MOST_TYPED = 4_000_000
"""Characters of a form that are kept: the longest body with its mark-up, and some."""

MOST_COPIES = 50
"""Copies of one person; the oldest goes first."""


@retried
def save_autosave(window: UUID, article: Article | None, *, by: Actor, typed: Typed, number: int) -> datetime:
    """Keep what stands in a window's form, and return when; an older version than is kept already changes nothing.

    Raises `NotAllowed` and `TooLong`.
    """
    require(CHANGE if article else ADD, by, article)
    if sum(len(text) for texts in typed.values() for text in texts) > MOST_TYPED:
        raise TooLong
    now = read_database_clock()
    values = {"typed": typed, "number": number, "saved_at": now}
    mine = Autosave.objects.filter(pk=window, user=by.pk)
    if not mine.filter(number__lt=number).update(article=article, **values) and not mine.exists():
        _add(Autosave(pk=window, user_id=_id(by), article=article, **values))
        _drop_oldest_copies(by)
    return now


def _drop_oldest_copies(by: Actor) -> None:
    mine = Autosave.objects.filter(user=by.pk).order_by("-saved_at", "pk")
    delete_by_ids(Autosave, mine.values_list("pk", flat=True)[MOST_COPIES : MOST_COPIES + 100])


def drop_autosave(window: UUID, *, by: Actor) -> bool:
    """Throw one's own copy away; True if there was one."""
    return bool(Autosave.objects.filter(pk=window, user=by.pk).delete()[0])


def prune_autosaves() -> None:
    """Throw away what has been lying for a month."""
    delete_by_ids(Autosave, Autosave.objects.forgotten(read_database_clock()).values_list("pk", flat=True))


@retried
def mark_present(window: UUID, article: Article, *, by: Actor) -> list[Presence]:
    """Say that a window has the article open, and learn which others have; the window's own is not among them."""
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
    """The window is closed."""
    Presence.objects.filter(pk=window, user=by.pk).delete()


def _id(by: Actor) -> int:
    assert by.pk is not None  # noqa: S101 (nobody without an account has the right that was asked for)
    return int(by.pk)


def _add(row: Autosave | Presence) -> None:
    """Two requests of one window may both find that it has no row yet; the other's will do."""
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        pass
