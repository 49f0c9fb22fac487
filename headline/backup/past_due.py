"""Past times in a restored backup: held in the transaction that loads it, then published or rescheduled on request.

What readers saw at the time of the backup stays visible. What became due since is held, because another installation
may have published it. Mails, pings, purges and notifications of the past are never repeated.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from django.apps.registry import Apps
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Greatest

from articles import events
from articles.audit import (
    Action,
    Source,
    StateSnapshot,
    record,
    record_many,
    record_release,
    source,
)
from articles.distribution import catch_up_completely
from articles.exchange import PastDue
from articles.models import (
    FEED_EPOCH,
    GOES_LIVE_COLUMNS,
    Article,
    BulkActionItem,
    Delivery,
    Endpoint,
    EventSink,
    FeedHead,
    Notification,
    Push,
    Release,
    Update,
)
from articles.publishing import BY_CLOCK, publish_due, sync_tasks, update_due
from articles.releases import release_due
from articles.task_types import DATE, OF_ARTICLES, PUBLISH, RELEASE, UNPUBLISH
from articles.workflow import ReleaseTransition, Transition
from headline.backup import past_shown
from headline.backup.archive import Manifest
from scheduling import registry
from scheduling.database import among, read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import cancel_tasks, reschedule_task, retry_task

_WAITING, _PUBLISHED, _UNPUBLISHED = Article.Status.waiting(), Article.Status.PUBLISHED, Article.Status.UNPUBLISHED
_LOG = TaskInfoLog.Status
_PATIENCE = 10.0  # seconds for the members of a release
_AT_ONCE = 500  # entries in a statement
_HELD = "Held when a backup was restored. Retry it if it has not run elsewhere."
_SILENCED = "Cancelled when a backup was restored."


@dataclass(frozen=True)
class Line:
    """Something that was due, and what became of it, for the report."""

    verb: str
    kind: str
    pk: int
    due: datetime
    now_due: datetime | None = None

    def __str__(self) -> str:
        then = f", now {self.now_due:%Y-%m-%d %H:%M} UTC" if self.now_due else ""
        return f"{self.verb} {self.kind} {self.pk}: was due {self.due:%Y-%m-%d %H:%M:%S} UTC{then}"


@dataclass(frozen=True)
class Passed:
    """What only the clock had done before the backup: the earlier status and the instant, by article."""

    published: dict[int, tuple[int, datetime]] = field(default_factory=dict)
    unpublished: dict[int, tuple[int, datetime]] = field(default_factory=dict)


@dataclass(frozen=True)
class Held:
    """What became due between the backup and now, with its old time, by primary key."""

    articles: dict[int, datetime] = field(default_factory=dict)
    updates: dict[int, datetime] = field(default_factory=dict)  #: by article
    releases: dict[int, datetime] = field(default_factory=dict)
    tasks: dict[int, datetime] = field(default_factory=dict)  #: of other programs
    shown: dict[str, dict[int, datetime]] = field(default_factory=dict)  #: versions of fronts and alerts, by kind
    later: dict[int, tuple[datetime, datetime]] = field(default_factory=dict)  #: fronts by a rule, with the next time
    passed: Passed = field(default_factory=Passed)

    def items(self) -> Iterator[tuple[datetime, str, int]]:
        """All of it, in the order of the old times."""
        kinds = {"article": self.articles, "update": self.updates, "release": self.releases, "task": self.tasks}
        kinds |= self.shown
        yield from sorted((due, kind, pk) for kind, times in kinds.items() for pk, due in times.items())


# In the transaction that loads the rows, on the tables as the backup has them


def hold(apps: Apps, manifest: Manifest) -> Held:
    """Take away past times and past tasks, and give the installation and its change feed an identity of their own.

    So its Redis keys are not those of the original, and clients of the feed read it again instead of missing changes.
    """
    now = read_database_clock()
    article = apps.get_model("articles", "Article")
    passed = _store_passed(article, manifest.moment, now)
    _close_passed(apps, passed, now)
    found = Held(
        passed=passed,
        articles=_without_times(article.objects.filter(status__in=_WAITING), _goes_live(article), now),
        updates=_hold_updates(apps.get_model("articles", "Update").objects, now),
        releases=_hold_releases(apps.get_model("articles", "Release").objects, now),
        tasks=_hold_tasks(apps, now),
        later=past_shown.begin_later(apps, manifest.moment, now),  # what does not recur any more is held then
        shown=past_shown.hold(apps, manifest.moment, now),
    )
    _end_bulk_actions(apps, now)
    apps.get_model("scheduling", "Installation").objects.update(identity=uuid.uuid4())
    _renumber_feed(apps, now)
    _pause_webhooks(apps)
    _cancel_pushes(apps, now)
    return found


def _goes_live(article: Any) -> Combinable:
    """From when readers see an article, by the columns that the backup has."""
    columns = {one.name for one in article._meta.concrete_fields}
    held = (Coalesce(name, "publish_at") for name in GOES_LIVE_COLUMNS[1:] if name in columns)
    return Greatest("publish_at", *held)


def _store_passed(article: Any, taken: datetime, now: datetime) -> Passed:
    """Store silently what the clock had done before the backup, and that those have left the site whose end is past."""
    goes_live, was_seen = _goes_live(article), Q(unpublish_at=None) | Q(unpublish_at__gt=F("moment"))
    live = article.objects.alias(moment=goes_live).filter(was_seen, status__in=_WAITING, moment__lte=taken)
    published = {pk: (status, moment) for pk, status, moment in live.values_list("pk", "status", goes_live)}
    live.update(status=_PUBLISHED, published_at=goes_live)
    over = article.objects.filter(status=_PUBLISHED, unpublish_at__lte=now)
    unpublished = {pk: (_PUBLISHED.value, end) for pk, end in over.values_list("pk", "unpublish_at")}
    over.update(status=_UNPUBLISHED)
    return Passed(published, unpublished)


def _close_passed(apps: Apps, passed: Passed, now: datetime) -> None:
    """Close the tasks of these articles as executed by the clock."""
    tasks = apps.get_model("scheduling", "TaskInfo").objects
    for task_type, found in ((PUBLISH, passed.published), (UNPUBLISH, passed.unpublished)):
        keys = tasks.filter(task_type=task_type).values_list("pk", "key")
        ids = [pk for pk, key in keys if int(key or 0) in found]
        _close(apps, tasks.filter(pk__in=among(ids)), _LOG.EXECUTED, "", now, executed_at=now, worker=BY_CLOCK)


def _hold_updates(updates: Any, now: datetime) -> dict[int, datetime]:
    due = updates.filter(approved__isnull=False, publish_at__lte=now)
    times = dict(due.values_list("article_id", "publish_at"))
    due.update(publish_at=None)
    return times


def _hold_releases(releases: Any, now: datetime) -> dict[int, datetime]:
    due = releases.filter(status=Release.Status.SCHEDULED, publish_at__lte=now)
    times = dict(due.values_list("pk", "publish_at"))
    due.update(publish_at=None, status=Release.Status.DRAFT)
    return times


def _without_times(waiting: Any, goes_live: Combinable, now: datetime) -> dict[int, datetime]:
    """Unschedule those that would go live since the backup."""
    due = waiting.alias(moment=goes_live).filter(moment__lte=now)
    times = dict(due.values_list("pk", "publish_at"))
    due.update(publish_at=None)
    return times


def _hold_tasks(apps: Apps, now: datetime) -> dict[int, datetime]:
    """Cancel the tasks of this installation, except future ones of articles and releases; hold past ones of programs.

    Reconcilers recreate those that are still needed, such as reviews.
    """
    tasks = apps.get_model("scheduling", "TaskInfo").objects
    ours = {*registry.task_types(), *registry.at_least_once_types()}
    future = Q(task_type__in=[*OF_ARTICLES, RELEASE], execute_time__gt=now)
    _close(apps, tasks.filter(task_type__in=ours).exclude(future), _LOG.CANCELLED, _SILENCED, now)
    theirs = tasks.exclude(task_type__in=ours).filter(execute_time__lte=now)
    times = dict(theirs.values_list("pk", "execute_time"))
    _close(apps, theirs, _LOG.FAILED, _HELD, now)
    tasks.update(leased_until=None, lease_token="")  # the workers and programs that held them are elsewhere
    return times


def _close(apps: Apps, tasks: Any, status: TaskInfoLog.Status, error: str, now: datetime, **values: Any) -> None:
    logs = apps.get_model("scheduling", "TaskInfoLog").objects.filter(pk__in=tasks.values("pk"))
    logs.update(status=status, error=error, updated_at=now, version=F("version") + 1, **values)
    tasks.delete()


def _end_bulk_actions(apps: Apps, now: datetime) -> None:
    """End those that were running, which their open page would continue; the articles left are skipped."""
    states = BulkActionItem.State
    running = apps.get_model("articles", "BulkAction").objects.filter(started_at__isnull=False, finished_at=None)
    items = apps.get_model("articles", "BulkActionItem").objects.filter(bulk_action__in=running, state=states.PENDING)
    items.update(state=states.REFUSED, reason=_SILENCED)
    running.update(finished_at=now)


def _renumber_feed(apps: Apps, now: datetime) -> None:
    """Begin a new epoch of events: clients may have read some that the backup does not have, and start over."""
    begin = int(now.timestamp()) * FEED_EPOCH
    models = {model.__name__: model for model in apps.get_app_config("articles").get_models()}
    for name, columns in _NUMBERED.items():
        if name in models:
            numbers: Any = {column: F(column) % FEED_EPOCH + begin for column in columns}
            models[name]._default_manager.update(**numbers)


_NUMBERED = {"FeedHead": ("sequence",), "FeedEntry": ("sequence",), "Event": ("seq", "feed_seq")}
"""What has numbers of events in a backup; that of an earlier version has the feed in a table of its own."""


def _pause_webhooks(apps: Apps) -> None:
    """Pause them: the original may go on sending to the same receivers."""
    models = {model.__name__: model for model in apps.get_app_config("articles").get_models()}
    if "Endpoint" in models:
        enabled = models["Endpoint"]._default_manager.filter(enabled=True)
        enabled.update(enabled=False, paused_because="restored")


def _cancel_pushes(apps: Apps, now: datetime) -> None:
    """Push nothing of before: the original may have done so, and goes on."""
    models = {model.__name__: model for model in apps.get_app_config("articles").get_models()}
    if "Push" in models:
        sending = models["Push"]._default_manager.filter(state=Push.State.SENDING)
        sending.update(state=Push.State.CANCELLED, reason=Push.Reason.RESTORED, ended_at=now)
        models["Alert"]._default_manager.update(push_since=None)


# After the migrations, with the present models


def apply(held: Held, choice: PastDue) -> list[Line]:
    """Record what was held in the audit log, or publish or reschedule it; nothing is sent."""
    events.subscribe({})  # no notification, ping or purge task from this process
    settings.CDN_PURGE_URLS = []  # and no purge
    actions = {PastDue.HOLD: _record_held, PastDue.PUBLISH: _publish, PastDue.RESCHEDULE: _reschedule}
    with source(Source.COMMAND), transaction.atomic():
        _record_passed(Action.PUBLISHED, held.passed.published, _PUBLISHED)
        _record_passed(Action.UNPUBLISHED, held.passed.unpublished, _UNPUBLISHED)
        past_shown.record_later(held.later)
        later = [Line("rescheduled", past_shown.FRONT, pk, *times) for pk, times in held.later.items()]
        lines = _in_order(*actions[choice](held), *later)
    _forget_past_of_webhooks()
    return lines


def _forget_past_of_webhooks() -> None:
    """Let no webhook hear of what is past: a user who enables one again may have it replayed."""
    if not (Endpoint.objects.exists() or EventSink.objects.exists()):
        return
    catch_up_completely()
    Delivery.objects.pending().update(state=Delivery.State.DROPPED, error=_SILENCED)
    last = FeedHead.objects.values_list("sequence", flat=True).first() or 0
    for model in (Endpoint, EventSink):
        model._default_manager.update(position=last, leased_until=None, lease_token="")


def _record_passed(action: str, found: dict[int, tuple[int, datetime]], status: Article.Status) -> None:
    """Write the audit entries of what the clock had done, with its instants."""
    articles = Article.objects.filter(pk__in=among(found)).only("title", *StateSnapshot.COLUMNS).order_by("pk")
    changes = []
    for article in articles:
        earlier, moment = found[article.pk]
        article.status, article.publish_at = status, moment  # what the entry shows
        changes.append((article, replace(StateSnapshot.of(article), status=earlier)))
    for start in range(0, len(changes), _AT_ONCE):
        record_many(action, changes[start : start + _AT_ONCE])


def _record_held(held: Held) -> list[Line]:
    for article in Article.objects.filter(pk__in=held.articles):
        record(Transition.UNSCHEDULE, article=article, before=_state_at(article, held.articles[article.pk]))
    for article in Article.objects.filter(pk__in=held.updates):
        record(Transition.UNSCHEDULE_UPDATE, article=article)
    for release in Release.objects.filter(pk__in=held.releases):
        record_release(ReleaseTransition.REOPEN, release, old_time=held.releases[release.pk])
    past_shown.record_held(held.shown)
    return [Line("held", kind, pk, due) for due, kind, pk in held.items()]


def _state_at(article: Article, publish_at: datetime) -> StateSnapshot:
    values = {name: getattr(article, name) for name in StateSnapshot.COLUMNS}
    return StateSnapshot(**{**values, "publish_at": publish_at})


def _publish(held: Held) -> list[Line]:
    now = read_database_clock()
    held, expired = _without_expired(held, now)
    for due, kind, pk in held.items():
        _set_time(kind, pk, due)
    publish_due(held.articles.keys())
    update_due(held.updates.keys())
    failed = {pk for pk in held.releases if release_due(pk, until=time.monotonic() + _PATIENCE) is not None}
    sync_tasks({*held.articles, *held.updates})
    _silence(held, now)
    return _in_order(*(Line(_verb(kind, pk, failed), kind, pk, due) for due, kind, pk in held.items()), *expired)


def _verb(kind: str, pk: int, failed: Collection[int]) -> str:
    if kind == "release" and pk in failed:
        return "failed"
    return "retried" if kind == "task" else "published"


def _silence(held: Held, start: datetime) -> None:
    """Drop the notifications and tasks of these releases, which are sent without an event."""
    Notification.objects.filter(release__in=held.releases, at__gte=start).delete()
    unwanted = [*registry.at_least_once_types(), DATE, RELEASE]
    past = TaskInfo.objects.filter(
        task_type__in=unwanted, execute_time__lte=read_database_clock() + timedelta(minutes=1)
    )
    cancel_tasks(list(past.values_list("pk", flat=True)), reason=_SILENCED)


def _reschedule(held: Held) -> list[Line]:
    """One a minute from the next full minute on, in the old order."""
    slot = read_database_clock().replace(second=0, microsecond=0)
    held, expired = _without_expired(held, slot + timedelta(minutes=len(list(held.items()))))
    lines = []
    for due, kind, pk in held.items():
        slot += timedelta(minutes=1)
        while past_shown.is_taken(kind, pk, slot):
            slot += timedelta(minutes=1)
        _set_time(kind, pk, slot)
        lines.append(Line("rescheduled", kind, pk, due, slot))
    sync_tasks({*held.articles, *held.updates})
    return _in_order(*lines, *expired)


def _without_expired(held: Held, until: datetime) -> tuple[Held, list[Line]]:
    """Without the articles that would be unpublished again until then; those stay held."""
    over = Article.objects.filter(pk__in=held.articles, unpublish_at__lte=until)
    expired = {pk: held.articles[pk] for pk in over.values_list("pk", flat=True)}
    others = {pk: due for pk, due in held.articles.items() if pk not in expired}
    return replace(held, articles=others), _record_held(Held(articles=expired))


def _in_order(*lines: Line) -> list[Line]:
    return sorted(lines, key=lambda line: line.due)


def _set_time(kind: str, pk: int, moment: datetime) -> None:
    if kind == "article":
        _schedule(Article.objects.get(pk=pk), moment)
    elif kind == "update":
        Update.objects.filter(article=pk).update(publish_at=moment)
    elif kind == "release":
        release = Release.objects.get(pk=pk)
        release.status, release.publish_at = Release.Status.SCHEDULED, moment
        release.save()
    elif kind != "task":
        past_shown.set_time(kind, pk, moment)
    else:
        retry_task(pk)
        reschedule_task(pk, moment)


def _schedule(article: Article, moment: datetime) -> None:
    before = StateSnapshot.of(article)
    Article.objects.filter(pk=article.pk).update(publish_at=moment)
    article.publish_at = moment
    record(Transition.RESCHEDULE, article=article, before=before)


def counts(lines: Iterable[Line]) -> dict[str, int]:
    """How many lines have each verb."""
    found = dict.fromkeys(("held", "published", "rescheduled", "retried", "failed"), 0)
    for line in lines:
        found[line.verb] += 1
    return found
