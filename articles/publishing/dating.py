"""Times of what readers see: they count from the commit, which a backup or a stalled disk may hold for seconds.

A transaction cannot know when it will be visible, so it stores the time of its own clock read, and is dated after the
commit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Case, F, Q, When

from articles.models import Article, Correction, status_at
from scheduling.database import among, lock_by_ids, read_database_clock, retried

TOLERANCE = timedelta(milliseconds=5)
"""How much earlier than its commit an action of a person may be dated: most transactions are shorter."""

_COLUMNS = ("cleared_at", "text_changed_at", "published_at")


@retried
def date_by_commit(article_ids: Collection[int], before: datetime, committed_at: datetime) -> list[int]:
    """Date by its commit what a transaction has dated from `before` on, corrections included; the articles' ids.

    Not those that another transaction has locked by now: no one waits for an editor.
    """
    free = list(lock_by_ids(Article, article_ids, skip_locked=True).values_list("pk", flat=True))
    window = {"gte": before, "lt": committed_at}
    dated = {name: _within(name, window) for name in _COLUMNS}
    dated["cleared_at"] |= dated["published_at"]  # which decides where lists have it
    dated["publish_at"] = Q(publish_at=before)  # published without a schedule
    # Columns that others depend on are last, because MySQL lets later assignments see the new values of earlier ones.
    times = {name: Case(When(dated[name], then=committed_at), default=F(name)) for name in dated}
    Article.objects.filter(pk__in=among(free)).update(**times)
    Correction.objects.filter(_within("published_at", window), article__in=free).update(published_at=committed_at)
    return free


def _within(name: str, window: Mapping[str, datetime]) -> Q:
    return Q(**{f"{name}__{lookup}": moment for lookup, moment in window.items()})


def date_on_commit(article: Article, before: datetime) -> None:
    """The same for an article that readers see after the action of a person, if its commit took long."""
    transaction.on_commit(partial(_date, article, before), robust=True)


def _date(article: Article, before: datetime) -> None:
    if status_at(article, before) != Article.Status.PUBLISHED:
        return
    committed_at = read_database_clock()
    if committed_at - before >= TOLERANCE and date_by_commit([article.pk], before, committed_at):
        article.refresh_from_db(fields=["publish_at", *_COLUMNS])
