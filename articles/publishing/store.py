"""Storing an article: its row, and what follows from it, in one transaction and one order.

Services call `store_article`. Signals remain for code that is not ours: a receiver decorated with `of_other_code` is
not called for what a service stores, and takes the same steps after a plain `article.save()`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Self

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.timezone import is_aware

from articles.cache import SITE, purge_articles, purge_before, purge_tags, schedule_purge
from articles.exceptions import InvalidSchedule
from articles.images import update_uses
from articles.models import Alert, Article, ImageUse, Update
from articles.publishing.reconcile import sync_tasks, sync_tasks_of
from articles.search import index_stored
from articles.workflow import WAITING
from scheduling.database import NoTimeZone, OutOfRange, database_now, storable
from scheduling.exceptions import NaiveTime, TimeOutOfRange

TIMES = frozenset({"publish_at", "unpublish_at", "embargo_until"})  #: decide when readers see it
SHOWN_STATUSES = frozenset(
    {*Article.Status.visible(), Article.Status.RETRACTED}
)  #: to readers, now or once they are due
LIST_FIELDS = frozenset({"channel", "channel_id", "author", "author_id", "byline"})  #: decide which lists show it
_HIDING = frozenset({"status", "publish_at", "embargo_until", "unpublish_at"})  # may remove it, at once or later
_UPDATE: Any = Article._meta.get_field("update")

_stored: ContextVar[Article | Update | None] = ContextVar("stored", default=None)  # by a service, at the moment


@dataclass(frozen=True, slots=True)
class StoredChange:
    """What a save has changed."""

    created: bool
    fields: frozenset[str]
    old_status: int
    old_time: datetime | None

    @classmethod
    def of(cls, article: Article, *, created: bool, loaded: Mapping[str, Any]) -> Self:
        """The changes of a saved article since it had the values `loaded`."""
        status = loaded.get("status", article.status)
        return cls(created, article.changed_fields(since=loaded), status, loaded.get("publish_at"))

    def hides(self, now: datetime) -> bool:
        """Maybe, at once or later, what readers saw before, by the clock: it goes live without being recorded."""
        if self.created or not _HIDING & self.fields:
            return False
        due = self.old_time if self.old_status in Article.Status.visible() else None
        return self.old_status == Article.Status.PUBLISHED or (due is not None and due <= now)


def store_article(article: Article, *, now: datetime | None = None, always: bool = False) -> None:
    """Save a new or locked article if it was changed, or `always`; and what follows, in one transaction.

    1. Refuse times that no row, page or database takes.
    2. Note when the change lets the article go live by itself (`cleared_at`), at the database's time `now`.
    3. Save the row; the caller stores its revision.
    4. Bring its tasks in line, in any case: its update may have changed.
    5. Index its text for search.
    6. Record which images it uses.
    7. Invalidate the cached pages that show it, and those of proxies if readers lose it.

    The audit entry, and the events that follow from it, are written by the caller's `recorded`, when its block ends.
    """
    created, loaded, changed = article._state.adding, article.loaded_values(), article.changed_fields()
    refuse_unstorable_times(article, changed)
    if now and article.is_cleared_by(changed, now):  # or by an expression, which is read on access
        article.cleared_at = now
    if not (created or changed or always):
        sync_tasks([article.pk])
        return
    # Without savepoints, two round trips each: if one step fails, all of it is rolled back.
    with transaction.atomic(savepoint=False):
        with _storing(article):
            article.save_in_transaction(revise=False)
        # Afterwards: the save itself, or a receiver of another project, may have changed more.
        follow(article, StoredChange.of(article, created=created, loaded=loaded))


def follow(article: Article, change: StoredChange) -> None:
    """Steps 4 to 7 of `store_article` for a saved article, whose row is read once.

    Other processes may have written columns that this save did not.
    """
    rows = Article.objects.select_related("update", "search").defer("search__heading", "search__whole")
    uses = Exists(ImageUse.objects.filter(article=OuterRef("pk")))
    alert = Exists(Alert.objects.filter(article=OuterRef("pk")))
    stored: Any = rows.annotate(now=database_now(), uses_images=uses, has_alert=alert).get(pk=article.pk)
    now = article.stored_at = stored.now.replace(tzinfo=UTC)
    article.take_set_by_database(stored)
    if not _UPDATE.is_cached(article):
        _UPDATE.set_cached_value(article, stored.pending_update)
        if stored.pending_update is not None:
            stored.pending_update.article = article
    sync_tasks_of(stored, now=now)
    index_stored(stored)
    # Most saves change neither: the rows of image uses are not even read.
    has_other_images = change.created or {"body", "cover"} & change.fields
    if has_other_images and (stored.uses_images or stored.cover or stored.images):
        update_uses([article.pk])
    everywhere = stored.has_alert and Alert.objects.filter(article=article.pk).sync_open(now) > 0
    _invalidate(article, change, now, everywhere=everywhere)


def _invalidate(article: Article, change: StoredChange, now: datetime, *, everywhere: bool) -> None:
    """The pages that show the article; all pages, if it was in other lists before, or `everywhere`."""
    if SHOWN_STATUSES & {article.status, change.old_status}:
        # The lists that showed it before are not known any more, so all pages are invalidated.
        moved = not change.created and LIST_FIELDS & change.fields
        purge_tags(SITE) if moved or everywhere else purge_articles([article.pk])
    if change.hides(now):
        # By a task of this transaction, too: what readers may no longer see must not stay because this process died.
        schedule_purge(articles=[article.pk], tags=[SITE] if everywhere else [])


def store_update(update: Update) -> None:
    """Save an update of a locked article, and record which images it uses; its tasks follow from `store_article`."""
    with transaction.atomic(savepoint=False):
        with _storing(update):
            update.save()
        update_uses([update.article_id])
        if update.approved_id is not None:
            purge_before(update.publish_at)


def checked_time(value: datetime) -> datetime:
    """`value` in UTC. Raises `InvalidSchedule` for a time without a zone, or that no row, page or database takes."""
    try:
        return storable(value)
    except NoTimeZone as error:
        raise InvalidSchedule(NaiveTime.message) from error
    except OutOfRange as error:
        raise InvalidSchedule(TimeOutOfRange.message) from error


def refuse_unstorable_times(article: Article, changed: Collection[str]) -> None:
    """Raise `InvalidSchedule` for a changed time as `checked_time` does, but leave one without a zone to Django.

    Another program may have stored such a time to go live, for which no task is made. A text with one is not approved,
    nor its embargo lifted, as no record would say that it went live; what is live can be taken down, and the time be
    removed.
    """
    decides = article.status in WAITING and {"status", *TIMES}.intersection(changed)
    for name in TIMES.intersection({*changed, "publish_at"} if decides else changed):
        value = getattr(article, name)
        if isinstance(value, datetime) and is_aware(value):
            checked_time(value)


def of_other_code(receive: Callable[..., None]) -> Callable[..., None]:
    """Call a receiver of `pre_save` or `post_save` only for saves that no service makes.

    A receiver of another project may save another article while a service stores one: that is such a save, too.
    """

    @wraps(receive)
    def unless_storing(*args: Any, instance: Article | Update, **kwargs: Any) -> None:
        if instance is not _stored.get():
            receive(*args, instance=instance, **kwargs)

    return unless_storing


@contextmanager
def _storing(row: Article | Update) -> Iterator[None]:
    token = _stored.set(row)
    try:
        yield
    finally:
        _stored.reset(token)
