"""Times of what readers see: they count from the commit, which a backup or a stalled disk may hold for seconds.

A transaction cannot know when it will be visible, so it stores the time of its own clock read, and is dated after the
commit. Where its process dies before that, a worker does it, by a task that the transaction has added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Case, F, Q, When

from articles.models import Article, Correction
from articles.task_types import DATE
from scheduling.database import among, lock_by_ids, read_database_clock, retried
from scheduling.registry import Postpone, Verdict
from scheduling.services import add_tasks, cancel_keys

TOLERANCE = timedelta(milliseconds=5)
"""How much earlier than its commit an action of a person may be dated: most transactions are shorter."""

_GRACE = timedelta(seconds=1)
"""How long after the time that a transaction has stored a worker dates what was not dated."""

_KNOWN_FOR = timedelta(seconds=30)
"""Until when a worker may do that: later, it is more likely that no worker ran than that the commit took so long."""

_PAGE = 1000  # ids in the parameters of a task
_COLUMNS = ("cleared_at", "text_changed_at", "published_at")
_DATED = ("publish_at", *_COLUMNS)


@retried
def date_by_commit(
    article_ids: Collection[int], before: datetime, committed_at: datetime, *, until: datetime | None = None
) -> list[int]:
    """Date by its commit what a transaction has dated from `before` on, corrections included; the articles' ids.

    Not those that another transaction has locked by now: no one waits for an editor. What later transactions have dated
    stays, if `until` is given: an instant at which the transaction had stored its values, and held their locks.
    """
    free = list(lock_by_ids(Article, article_ids, skip_locked=True).values_list("pk", flat=True))
    window = {"gte": before, "lte": until or committed_at}
    dated = {name: _within(name, window) for name in _COLUMNS}
    dated["cleared_at"] |= dated["published_at"]  # which decides where lists have it
    dated["publish_at"] = Q(publish_at=before)  # published without a schedule
    # Columns that others depend on are last, because MySQL lets later assignments see the new values of earlier ones.
    times = {name: Case(When(dated[name], then=committed_at), default=F(name)) for name in dated}
    Article.objects.filter(pk__in=among(free)).update(**times)
    Correction.objects.filter(_within("published_at", window), article__in=free).update(published_at=committed_at)
    return free


def date_later(subject: str, ids: Collection[int], before: datetime, *, committed_at: datetime | None = None) -> None:
    """Have a worker date the articles or releases with these ids, unless `note_dated` is called before.

    By `committed_at` if that is known, else when the worker comes.
    """
    times = {"before": before.isoformat()} | ({"committed_at": committed_at.isoformat()} if committed_at else {})
    add_tasks(
        {
            "task_type": DATE,
            "execute_time": before + _GRACE,
            "parameters": {f"{subject}_ids": page, **times},
            "key": key,
        }
        for key, page in _pages(subject, ids, before)
    )


def note_dated(subject: str, ids: Collection[int], before: datetime) -> None:
    """Cancel the tasks of `date_later` with the same arguments."""
    cancel_keys(DATE, [key for key, _page in _pages(subject, ids, before)], reason="they are dated")


def _pages(subject: str, ids: Collection[int], before: datetime) -> Iterator[tuple[str, list[int]]]:
    """The key and the ids of each task. One of another time may have the same ids, and must not replace it."""
    ordered = sorted(ids)
    for start in range(0, len(ordered), _PAGE):
        page = ordered[start : start + _PAGE]
        yield f"{subject}:{page[0]}:{before.isoformat()}", page


def date_of_late_commit(before: datetime) -> datetime | None:
    """The present time, for what a transaction has stored as of `before`; None if that is too long ago."""
    now = read_database_clock()
    return now if now - before < _KNOWN_FOR else None


def date_articles(
    article_ids: Collection[int], before: datetime, committed_at: datetime, *, until: datetime
) -> Verdict | None:
    """Date what the transaction of a person has stored from `before` until then, where that was not done."""
    at_that_time = Q(*((name, before) for name in _DATED), _connector=Q.OR)
    undated = Article.objects.filter(at_that_time, pk__in=among(article_ids)).values_list("pk", flat=True)
    missing = set(undated)
    return Postpone() if missing - {*date_by_commit(missing, before, committed_at, until=until)} else None


def _within(name: str, window: Mapping[str, datetime]) -> Q:
    return Q(**{f"{name}__{lookup}": moment for lookup, moment in window.items()})


@contextmanager
def dated_by_commit(article: Article, before: datetime) -> Iterator[None]:
    """The same for a locked article that is stored in this block, if readers see it then and its commit takes long.

    If this process dies before that, a worker does it. To be entered before what invalidates cached pages, which show
    the time.
    """
    transaction.on_commit(partial(_date, article, before), robust=True)
    yield
    if _counts_from(article, before):
        date_later("article", [article.pk], before)


def date_many_on_commit(times: Mapping[int, datetime], before: datetime) -> None:
    """The same for articles by id, with the times from which readers may see them, unless the commit takes longer."""
    near = [pk for pk, moment in times.items() if moment < before + _KNOWN_FOR]
    if near:
        date_later("article", near, before)
        transaction.on_commit(partial(_date_many, near, min(times.values()), before), robust=True)


def _counts_from(article: Article, before: datetime) -> bool:
    """Whether a time of what readers see of the article, or will see soon, is that of the transaction."""
    moment = article.goes_live_at
    if moment is None or moment >= before + _KNOWN_FOR or article.status not in Article.Status.visible():
        return False
    return not article.is_over_at(before) and any(getattr(article, name) == before for name in _DATED)


def _date(article: Article, before: datetime) -> None:
    moment = article.goes_live_at
    if moment is not None and _counts_from(article, before) and _date_many([article.pk], moment, before):
        article.refresh_from_db(fields=_DATED)


def _date_many(article_ids: Collection[int], first: datetime, before: datetime) -> bool:
    """Whether the commit took so long that some had to be dated."""
    committed_at = read_database_clock()
    is_late = first < committed_at and committed_at - before >= TOLERANCE
    dated = date_by_commit(article_ids, before, committed_at) if is_late else article_ids
    _note_dated(article_ids, before, committed_at, locked={*article_ids}.difference(dated))
    return is_late and bool(dated)


@retried
def _note_dated(article_ids: Collection[int], before: datetime, committed_at: datetime, *, locked: set[int]) -> None:
    """Leave those that someone has locked to a worker, which does not know when the commit was."""
    note_dated("article", article_ids, before)
    date_later("article", locked, before, committed_at=committed_at)
