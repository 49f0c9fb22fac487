"""Managing webhooks: who may, what is recorded, and their health."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from django.db.models import Count, Q
from django.utils.translation import gettext_lazy as _

from articles.audit import Action, Actor, record_beside
from articles.distribution import catch_up
from articles.exceptions import ArticleError, Gone
from articles.limits import MOST_ENDPOINTS, MOST_REPLAYED
from articles.models import NEWSROOM_KINDS, ROTATION, Channel, Delivery, Endpoint, Event
from articles.permissions import require
from articles.webhooks.dispatch import add_deliveries, heard_by, is_ready
from articles.webhooks.signing import new_secret
from articles.webhooks.target import check
from scheduling.database import among, lock_by_ids, read_database_clock, retried

MANAGE = "articles.manage_webhooks"
SEND_SCHEDULES = "articles.send_schedules"

_RECENT = timedelta(hours=24)
_REPEATED_WITHIN = timedelta(minutes=1)
_SAMPLE = 1_000  # deliveries of which the median is taken


class TooManyEndpoints(ArticleError):
    """There are as many webhooks as there may be."""

    code = "too_many_webhooks"
    message = _("There are as many webhooks as there may be; delete one first.")


class ChannelMissing(ArticleError):
    """A webhook without any channel would hear of all, so it is not stored without one that was chosen."""

    code = "no_such_channel"
    message = _("A channel that you chose has been deleted in the meantime; choose again.")


class EndpointPaused(ArticleError):
    """Nothing is sent to a paused webhook."""

    code = "webhook_paused"
    message = _("The webhook is paused; enable it first.")


@retried
def save_endpoint(endpoint: Endpoint, *, by: Actor, channels: Collection[Channel] | None = None) -> None:
    """Store a new or changed webhook; a new one gets a secret, and hears of what happens from now on.

    `channels` are those that the caller stores next. Raises `NotAllowed`, `TargetRefused`, `ChannelMissing`, and
    `TooManyEndpoints`.
    """
    require(MANAGE, by)
    stored = Endpoint.objects.filter(pk=endpoint.pk).first() if endpoint.pk else None
    before = stored or Endpoint()
    old = {one.pk for one in stored.channels.all()} if stored else set()
    new = old if channels is None else {one.pk for one in channels}
    # Who may not let it hear of what is not out does not lead what it hears elsewhere, or let it hear more, either.
    is_as_before = before.hears_newsroom and before.url == endpoint.url and not _hears_more(endpoint, before, old, new)
    if endpoint.hears_newsroom and not is_as_before:
        require(SEND_SCHEDULES, by)
    if stored is None or stored.url != endpoint.url:
        check(endpoint.url)
    if channels and len(lock_by_ids(Channel, new)) < len(new):
        raise ChannelMissing
    if stored is None:
        if Endpoint.objects.count() >= MOST_ENDPOINTS:
            raise TooManyEndpoints
        endpoint.secret, endpoint.owner_id = new_secret(), by.pk
        endpoint.position = catch_up().sequence
    elif stored.url != endpoint.url or (endpoint.enabled and not stored.enabled):
        _forget_failures(endpoint)
        _send_waiting(endpoint)
    # Only what a form has: the dispatcher writes the others at the same time.
    names = None if stored is None else [*_EDITABLE, *_HEALTH] if endpoint.failing_since is None else _EDITABLE
    endpoint.save(update_fields=names)
    changed = [name for name in _EDITABLE if getattr(before, name) != getattr(endpoint, name)]
    changed += ["channels"] if new != old else []
    _record(Action.CHANGE_WEBHOOK if stored else Action.ADD_WEBHOOK, endpoint, by, changed=changed)


def _hears_more(endpoint: Endpoint, before: Endpoint, old: Collection[int], new: Collection[int]) -> bool:
    """Whether it hears of more that is not out than before, when it had the `old` channels."""
    kinds = {*NEWSROOM_KINDS} & {*endpoint.heard_kinds()}
    is_wider = _is_wider(before.languages, endpoint.languages) or _is_wider(old, new)
    is_wider |= endpoint.enabled and _lacks_channels(before)
    return bool(kinds - {*before.heard_kinds()}) or (bool(kinds) and is_wider)


def _lacks_channels(endpoint: Endpoint) -> bool:
    """Whether it is paused because its channels were deleted: it hears of more when it goes on, with any others."""
    return not endpoint.enabled and endpoint.paused_because == _CHANNELS_DELETED


def _is_wider(old: Collection[Any], new: Collection[Any]) -> bool:
    """Whether a choice leaves less out than before: an empty one leaves out nothing."""
    return bool(old) and not (new and {*new} <= {*old})


_CHANNELS_DELETED = "channel"

_EDITABLE = ("url", "description", "kinds", "languages", "is_full", "hears_newsroom", "enabled")
_HEALTH = ("failing_since", "failed_at", "is_owner_mailed", "paused_because", "resumes_at")


def _forget_failures(endpoint: Endpoint) -> None:
    endpoint.failing_since = endpoint.failed_at = endpoint.resumes_at = None
    endpoint.is_owner_mailed = False
    if not _lacks_channels(endpoint):  # which is no failure, and says who may let it go on
        endpoint.paused_because = ""


def _send_waiting(endpoint: Endpoint) -> None:
    """Let what waits for its next attempt be sent: a day after that, a retraction would still wait behind it."""
    now = read_database_clock()
    endpoint.deliveries.pending().filter(due_at__gt=now).update(due_at=now)


@retried
def set_enabled(endpoint: Endpoint, enabled: bool, *, by: Actor) -> None:
    """Pause it, or go on with what has waited. Raises `NotAllowed` and `Gone`."""
    require(MANAGE, by)
    locked = _lock(endpoint)
    if enabled and locked.hears_newsroom and _lacks_channels(locked):
        require(SEND_SCHEDULES, by)
    locked.enabled = enabled
    _forget_failures(locked)
    locked.save(update_fields=["enabled", *_HEALTH])
    if enabled:
        _send_waiting(locked)
    endpoint.refresh_from_db()
    _record(Action.CHANGE_WEBHOOK, endpoint, by, changed=["enabled"])


@retried
def rotate_secret(endpoint: Endpoint, *, by: Actor) -> None:
    """Give it a new secret; for a day messages are signed with both. Raises `NotAllowed` and `Gone`.

    Once in a minute: a second click would end the secret that its receiver knows.
    """
    require(MANAGE, by)
    locked, now = _lock(endpoint), read_database_clock()
    until = locked.old_secret_until
    if until is None or not now + ROTATION - _REPEATED_WITHIN < until <= now + ROTATION:
        locked.old_secret, locked.old_secret_until = locked.secret, now + ROTATION
        locked.secret = new_secret()
        locked.save(update_fields=["secret", "old_secret", "old_secret_until"])
        _record(Action.ROTATE_WEBHOOK_SECRET, endpoint, by)
    endpoint.refresh_from_db()


@retried
def delete_endpoint(endpoint: Endpoint, *, by: Actor) -> None:
    """Delete it with its log, unless it is gone. Raises `NotAllowed`."""
    require(MANAGE, by)
    # Without the lock a dispatcher adds a delivery after the others are deleted.
    if lock_by_ids(Endpoint, [endpoint.pk]).exists():
        _record(Action.DELETE_WEBHOOK, endpoint, by)
        endpoint.delete()


def pause_without(channel_ids: Collection[int]) -> None:
    """Pause the webhooks that hear of these channels alone, which are deleted: without any they would hear of all."""
    list(lock_by_ids(Channel, channel_ids).values_list("pk"))  # else a webhook chooses one at the same time
    chosen = Endpoint.channels.through._default_manager
    hearing = [*chosen.filter(channel__in=channel_ids).values_list("endpoint", flat=True)]
    list(lock_by_ids(Endpoint, hearing).values_list("pk"))  # else its other channels are deleted at the same time
    others = chosen.filter(endpoint__in=hearing).exclude(channel__in=channel_ids).values_list("endpoint", flat=True)
    alone = {*hearing} - {*others}
    Endpoint.objects.filter(pk__in=alone).update(enabled=False, paused_because=_CHANNELS_DELETED)


@retried
def send_test(endpoint: Endpoint, *, by: Actor) -> Delivery:
    """Have a worker send a test message at once. Raises `NotAllowed`, `Gone` and `EndpointPaused`."""
    require(MANAGE, by)
    locked, now = _lock(endpoint), read_database_clock()
    if not locked.enabled:
        raise EndpointPaused
    if not Endpoint.objects.filter(is_ready(now), pk=locked.pk).exists():
        raise EndpointPaused(_("The receiver has asked for a pause; send the test after it."))
    _record(Action.TEST_WEBHOOK, endpoint, by)
    return Delivery.objects.create(endpoint=endpoint, due_at=now)


@retried
def replay(endpoint: Endpoint, delivery_ids: Collection[int], *, by: Actor) -> int:
    """Send these deliveries again, with the same ids; how many there are. Raises `NotAllowed` and `Gone`."""
    require(MANAGE, by)
    _lock(endpoint)
    rows = endpoint.deliveries.filter(pk__in=among(delivery_ids), event__isnull=False)
    count = rows.update(state=Delivery.State.PENDING, attempts=0, due_at=read_database_clock())
    _record(Action.REPLAY_WEBHOOK, endpoint, by, count=count)
    return count


@retried
def replay_since(endpoint: Endpoint, since: datetime, *, by: Actor) -> int:
    """Send again what happened since an instant, also from before the webhook; the first thousands. The number.

    Raises `NotAllowed`, `Gone`, and `EndpointPaused` if it has lost its channels: it would hear of all.
    """
    require(MANAGE, by)
    locked, now = _lock(endpoint), read_database_clock()
    if _lacks_channels(locked) and not locked.channels.exists():
        raise EndpointPaused(_("The channels of this webhook have been deleted; choose others first."))
    past = Event.objects.filter(heard_by(locked), seq__lte=locked.position, numbered_at__gte=since).order_by("seq")
    events = list(past.only("object_id")[:MOST_REPLAYED])
    add_deliveries(locked, events, now)
    ids = [event.pk for event in events]
    again = locked.deliveries.filter(event__in=among(ids)) if ids else locked.deliveries.none()
    again.update(state=Delivery.State.PENDING, attempts=0, due_at=now)
    _record(Action.REPLAY_WEBHOOK, endpoint, by, count=len(ids), since=since.isoformat())
    return len(ids)


def _lock(endpoint: Endpoint) -> Endpoint:
    """The row, locked until the end of the transaction. Raises `Gone`."""
    locked = lock_by_ids(Endpoint, [endpoint.pk]).first()
    if locked is None:
        raise Gone
    return locked


def _record(action: str, endpoint: Endpoint, by: Actor, **details: object) -> None:
    """By its host: the rest of a URL may be secret."""
    title = endpoint.description or urlsplit(endpoint.url).hostname or ""
    record_beside(action, title=title, by=by, webhook=endpoint.pk, **details)


@dataclass(frozen=True)
class EndpointHealth:
    """The last 24 hours of a webhook."""

    delivered: int = 0
    retrying: int = 0
    failed: int = 0
    median_ms: int | None = None  #: from the event to the first attempt


def health_of(endpoints: Collection[Endpoint]) -> Mapping[int, EndpointHealth]:
    """The health of webhooks, by their ids."""
    since, states = read_database_clock() - _RECENT, Delivery.State
    ids = [one.pk for one in endpoints]
    rows = Delivery.objects.filter(endpoint__in=ids).order_by().values("endpoint")
    # Two statements, each with an index: the log has the deliveries of weeks.
    ended = rows.filter(sent_at__gte=since).annotate(
        delivered=Count("pk", filter=Q(state=states.DELIVERED)), failed=Count("pk", filter=Q(state=states.FAILED))
    )
    waiting = rows.filter(state=states.PENDING, attempts__gt=0).annotate(retrying=Count("pk"))
    found: dict[int, Any] = {}
    for row in (*ended, *waiting):
        found.setdefault(row["endpoint"], {}).update(row)
    return {pk: _health(pk, found.get(pk, {}), since) for pk in ids}


def with_health(endpoints: Collection[Any]) -> None:
    """Give each of these webhooks its `health`, in few statements."""
    found = health_of(endpoints)
    for one in endpoints:
        one.health = found[one.pk]


def _health(pk: int, row: Mapping[str, int], since: datetime) -> EndpointHealth:
    late = Delivery.objects.filter(endpoint=pk, sent_at__gte=since, event__isnull=False, late_ms__isnull=False)
    rows = late.order_by("-sent_at").values_list("late_ms", flat=True)[:_SAMPLE]
    sample = [one for one in rows if one is not None]
    return EndpointHealth(
        row.get("delivered", 0), row.get("retrying", 0), row.get("failed", 0), round(median(sample)) if sample else None
    )
