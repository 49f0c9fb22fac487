"""Reconciling articles with their tasks.

An approved article with a time has exactly one pending task to publish it, due at that time or at the end of its
embargo if that is later. An article that is or will be live and has a time to be unpublished has exactly one task for
that, and an approved update with a time exactly one to publish it. All others have none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from articles.models import Article, Update
from articles.task_types import OF_ARTICLES, PUBLISH, UNPUBLISH, UPDATE
from scheduling.database import EARLIEST, LATEST, among, lock_by_ids, read_database_clock, retried
from scheduling.services import has_pending, pending_times, set_tasks

RECONCILE_WINDOW = timedelta(minutes=10)
"""How far ahead `reconcile_tasks` looks: well over the engine's preload window of 5 minutes."""

_PAGE = 1000  # articles in one statement
_MOST_COUNTED = 10_000  # unscheduled articles
_COLUMNS = ("status", "publish_at", "embargo_until", "unpublish_at", "update__approved", "update__publish_at")

Times = dict[str, datetime]


def sync_tasks(article_ids: Collection[int], *, now: datetime | None = None) -> None:
    """Bring the tasks of these articles in line with their rows, in the caller's transaction.

    The caller has saved, inserted or locked the rows in that transaction, so they cannot change. Tasks that
    need no change are not written. `now` is the database's time, if it has been read in the transaction.
    """
    for page in _pages(article_ids):
        _set_tasks(page, _wanted(_rows(page)), now)


def sync_tasks_of(stored: Article, *, now: datetime) -> None:
    """As `sync_tasks` for one article, whose row was read in this transaction with its update."""
    update = stored.pending_update
    times = stored.publish_at, stored.embargo_until, stored.unpublish_at
    row = stored.pk, stored.status, *times, update and update.approved_id, update and update.publish_at
    _set_tasks([stored.pk], _wanted([row]), now)


def sync_tasks_at(articles: Sequence[Article], *, now: datetime) -> None:
    """As `sync_tasks` for articles of which the caller, who has locked them, changed only the times.

    They hold these already. Those without an end have no task for it before and after, and updates keep theirs.
    """
    for start in range(0, len(articles), _PAGE):
        page = articles[start : start + _PAGE]
        wanted = _wanted(
            (one.pk, one.status, one.publish_at, one.embargo_until, one.unpublish_at, None, None) for one in page
        )
        keys = {PUBLISH: {str(one.pk) for one in page}}
        if ending := {str(one.pk) for one in page if one.unpublish_at is not None}:
            keys[UNPUBLISH] = ending
        _set_wanted(wanted, keys, now)


def _set_tasks(page: Collection[int], wanted: dict[str, Times], now: datetime | None) -> None:
    _set_wanted(wanted, dict.fromkeys(OF_ARTICLES, frozenset(map(str, page))), now)


def _set_wanted(wanted: dict[str, Times], keys: Mapping[str, Collection[str]], now: datetime | None) -> None:
    set_tasks((_task(name, key, due) for name in keys for key, due in wanted[name].items()), keys=keys, now=now)


def cancel_all_tasks(article_ids: Collection[int]) -> None:
    """Cancel every task of these articles, in the caller's transaction."""
    for page in _pages(article_ids):
        _set_tasks(page, _wanted([]), None)


def reconcile_tasks() -> int:
    """Repair missing or wrong tasks of articles that are due soon; returns the number of articles.

    `QuerySet.update`, `bulk_create` and other programs bypass `Article.save()`. A locked article is skipped: the save
    of its editor syncs the tasks.
    """
    return sum(_reconcile(page) for page in _pages(_near(read_database_clock() + RECONCILE_WINDOW)))


def count_unscheduled(now: datetime) -> int:
    """Approved articles that are due before `RECONCILE_WINDOW` ends and have no task, which `reconcile_tasks` repairs.

    One statement, which reads the articles of the window by their index; it stops at `_MOST_COUNTED`.
    """
    due = Article.objects.filter(status__in=Article.Status.waiting(), goes_live_at__lte=now + RECONCILE_WINDOW)
    return due.filter(~has_pending(PUBLISH))[:_MOST_COUNTED].count()


@retried
def _reconcile(page: Sequence[int]) -> int:
    if not (suspects := _suspects(page)):
        return 0
    # Found without locks, and looked at again under them: a save in between may have corrected it.
    locked = list(lock_by_ids(Article, suspects, skip_locked=True).values_list("pk", flat=True))
    wrong = _suspects(locked)
    sync_tasks(wrong)
    return len(wrong)


def _near(until: datetime) -> list[int]:
    """Articles that go live, are updated or are unpublished until then, by one index scan each."""
    # Three statements, not one with OR, for which MariaDB would scan the table.
    waiting = Article.objects.filter(status__in=Article.Status.waiting(), goes_live_at__lte=until)
    leaving = Article.objects.filter(status__in=Article.Status.visible(), unpublish_at__lte=until)
    updates = Update.objects.filter(approved__isnull=False, publish_at__lte=until).values_list("article", flat=True)
    return sorted({*waiting.values_list("pk", flat=True), *leaving.values_list("pk", flat=True), *updates})


def _suspects(page: Sequence[int]) -> list[int]:
    """Those of the articles that have no task, or one at a wrong time."""
    wanted = _wanted(_rows(page))
    return sorted({int(key) for task_type in OF_ARTICLES for key in _wrong(task_type, wanted[task_type])})


def _wrong(task_type: str, wanted: Times) -> set[str]:
    pending = pending_times(task_type, wanted)
    return {key for key, due in wanted.items() if pending.get(key) != due}


def _rows(page: Collection[int]) -> Iterable[tuple[Any, ...]]:
    return Article.objects.filter(pk__in=among(page)).values_list("pk", *_COLUMNS)


def _wanted(rows: Iterable[tuple[Any, ...]]) -> dict[str, Times]:
    """Task type to article key to due time, for those articles that should have such a task.

    Times that no task can have, such as a `QuerySet.update` may have set for "never", are left out.
    """
    wanted: dict[str, Times] = {task_type: {} for task_type in OF_ARTICLES}
    for pk, status, publish_at, embargo_until, unpublish_at, approved, update_at in rows:
        is_waiting = status in Article.Status.waiting() and publish_at is not None
        if is_waiting:
            wanted[PUBLISH][str(pk)] = max(publish_at, embargo_until or publish_at)
        if unpublish_at is not None and (is_waiting or status == Article.Status.PUBLISHED):
            wanted[UNPUBLISH][str(pk)] = unpublish_at
        if approved is not None and update_at is not None:
            wanted[UPDATE][str(pk)] = update_at
    return {task_type: dict(filter(_can_be_due, times.items())) for task_type, times in wanted.items()}


def _can_be_due(entry: tuple[str, datetime]) -> bool:
    return EARLIEST <= entry[1] < LATEST


def _task(task_type: str, key: str, due: datetime) -> dict[str, Any]:
    return {"task_type": task_type, "execute_time": due, "parameters": {"article_id": int(key)}, "key": key}


def _pages(ids: Collection[int]) -> Iterator[list[int]]:
    ordered = sorted(ids)
    return (ordered[start : start + _PAGE] for start in range(0, len(ordered), _PAGE))
