"""The sender of pushes: in threads of the workers, after the event *published*, at most once for each subscription.

A row of the ledger is written before a message is sent. What a process that died had written so is in doubt, and is not
sent again: a reader who hears of it late on a page is better than one whom a phone wakes twice.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from queue import SimpleQueue
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import Count, Exists, F, Min, OuterRef, Q

from articles.models import Alert, Push, PushMessage, PushSubscription, PushSubscriptionQuerySet
from articles.push.keys import authorization, encrypt
from articles.push.plan import plan, why_not
from articles.push.subscriptions import target_of
from articles.webhooks import PinnedConnection, Reply, TargetRefused
from scheduling.database import insert_rows, read_database_clock, retried, update_by_ids
from scheduling.incidents import incidents
from scheduling.registry import Ending, companion

logger = logging.getLogger(__name__)

TTL = timedelta(hours=1)
"""How long push services keep a message for a browser that is off; after that nothing of a push is sent."""

LEASE = timedelta(seconds=30)  # longer than the slowest request
_LOOK = 1.0  # seconds between two looks
_AT_ONCE = 16  # requests to one push service, all of which are in the ledger
_HOSTS = 8  # push services at once
_PAUSES = (timedelta(seconds=5), timedelta(seconds=30), timedelta(minutes=5))
"""After each refusal that may pass; a service may ask for a longer one."""
_JITTER = 0.2
_SILENT = 2  # chunks without any answer, after which a service gets a pause
_REST = timedelta(minutes=1)
_GONE = (404, 410)

State, MessageState = Push.State, PushMessage.State


# Taking a push


def _take(pk: int) -> Push | None:
    """Lease a push for this process; what another had begun to send and not noted is in doubt."""
    token, now = str(uuid.uuid4()), read_database_clock()
    free = Q(leased_until__isnull=True) | Q(leased_until__lte=now) | Q(leased_until__gt=now + 2 * LEASE)
    if not Push.objects.filter(free, pk=pk, state=State.SENDING).update(leased_until=now + LEASE, lease_token=token):
        return None
    PushMessage.objects.filter(push=pk, state=MessageState.SENDING).update(state=MessageState.DOUBTFUL)
    return Push.objects.filter(pk=pk, lease_token=token).first()


def _due(now: datetime) -> list[int]:
    rows = Push.objects.filter(state=State.SENDING, due_at__lte=now)
    rows = rows.filter(Q(leased_until__isnull=True) | Q(leased_until__lte=now) | Q(leased_until__gt=now + 2 * LEASE))
    return list(rows.order_by("pk").values_list("pk", flat=True))


def _serve(push: Push, stopping: Ending, run: Callable[[Sequence[Callable[[], None]]], None]) -> None:
    """Send what is due of a leased push, to all its services at once, and say when it goes on or that it is over."""
    try:
        run([partial(_serve_host, push, host, stopping) for host in _hosts(push)])
    finally:
        _finish(push, stopping)


def _new(push: Push, now: datetime) -> PushSubscriptionQuerySet:
    """The subscriptions that are still to get it; those that have heard of enough today are not."""
    chosen = PushSubscription.objects.of_topics(push.article.channel_id).filter(pk__lte=push.last_subscription)
    written = PushMessage.objects.filter(push=push, subscription=OuterRef("pk"))
    return chosen.exclude(Exists(written)).not_full(now, most=settings.PUSH_PER_DAY)


def _hosts(push: Push) -> list[str]:
    """The push services of those that are to get it, or whose service has refused it for a while.

    Those with most readers first: a visitor may subscribe with made-up names below those of services, which take long.
    """
    now = read_database_clock()
    due = PushMessage.objects.filter(push=push, state=MessageState.WAITING, due_at__lte=now)
    numbers = Counter(dict(_new(push, now).order_by().values_list("host").annotate(number=Count("pk"))))
    numbers.update(dict(due.order_by().values_list("subscription__host").annotate(number=Count("pk"))))
    return [host for host, _number in numbers.most_common()]


@retried
def _finish(push: Push, stopping: Ending) -> None:
    now = read_database_clock()
    own = Push.objects.filter(pk=push.pk, lease_token=push.lease_token)
    if stopping.is_set():
        own.update(leased_until=None, lease_token="")
        return
    waiting = PushMessage.objects.filter(push=push, state=MessageState.WAITING)
    next_at = waiting.aggregate(at=Min("due_at"))["at"]
    if next_at is None and _new(push, now).exists():
        next_at = now + _REST  # a service that was silent
    values: dict[str, Any] = {"leased_until": None, "lease_token": "", **_counts(push)}
    if next_at is None or next_at >= push.created_at + TTL:
        waiting.update(state=MessageState.FAILED)
        values |= {**_counts(push), "ended_at": now}
        own.filter(state=State.SENDING).update(state=State.SENT)
    else:
        values["due_at"] = next_at
    own.update(**values)


def _counts(push: Push) -> dict[str, int]:
    rows = PushMessage.objects.filter(push=push).order_by().values_list("state")
    found = dict(rows.annotate(number=Count("pk")))
    names = {"accepted": MessageState.ACCEPTED, "failed": MessageState.FAILED, "doubtful": MessageState.DOUBTFUL}
    return {name: found.get(state.value, 0) for name, state in names.items()}


# Sending to one push service


def _serve_host(push: Push, host: str, stopping: Ending) -> None:
    silent = 0
    first = PushSubscription.objects.filter(host=host).values_list("endpoint", flat=True).first()
    try:
        target = target_of(first or "")
    except TargetRefused:  # the environment allowed it before
        _refuse(push, host)
        return
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="push") as pool:
        lines = [PinnedConnection(target, repeats=False) for _ in range(_AT_ONCE)]
        try:
            origin = f"{target.scheme}://{target.host_header}"
            while silent < _SILENT and not stopping.is_set():
                stopping.make_room()
                alert = _still(push)
                chunk = _next(push, host) if alert is not None else []
                if alert is None or not chunk:
                    return
                replies = _post_all(push, alert, chunk, lines, pool, origin)
                _note(push, chunk, replies)
                silent = 0 if any(reply.code for reply in replies) else silent + 1
        finally:
            for line in lines:
                line.close()


def _still(push: Push) -> Alert | None:
    """Renew the lease, and read whether the alert may still be sent; else it is cancelled."""
    now = read_database_clock()
    own = Push.objects.filter(pk=push.pk, lease_token=push.lease_token, state=State.SENDING)
    if now >= push.created_at + TTL or not own.update(leased_until=now + LEASE):
        return None
    alert = Alert.objects.select_related("article").filter(pushes=push.pk).first()
    reason = Push.Reason.OFF if alert is None else why_not(alert, now)
    if reason:
        own.update(state=State.CANCELLED, reason=reason, ended_at=now)
        return None
    return alert


@dataclass
class _Sent:
    """A row of the ledger with its subscription."""

    pk: int
    attempts: int
    subscription: PushSubscription


@retried
def _next(push: Push, host: str) -> list[_Sent]:
    """Write the ledger for the next messages to a service: none while it has asked for a pause."""
    now = read_database_clock()
    of_host = PushMessage.objects.filter(subscription__host=host)
    if of_host.filter(state=MessageState.WAITING, code=429, due_at__gt=now).exists():
        return []
    due = of_host.filter(push=push, state=MessageState.WAITING, due_at__lte=now).order_by("due_at")
    again = list(due.values_list("pk", flat=True)[:_AT_ONCE])
    if again:
        PushMessage.objects.filter(pk__in=again).update(
            state=MessageState.SENDING, attempts=F("attempts") + 1, sent_at=now
        )
        return _chunk(PushMessage.objects.filter(pk__in=again))
    ids = list(_new(push, now).filter(host=host).order_by("pk").values_list("pk", flat=True)[:_AT_ONCE])
    values = ([push.pk, pk, MessageState.SENDING, 1, now] for pk in ids)
    if ids:
        fields = ("push", "subscription", "state", "attempts", "sent_at")
        insert_rows(PushMessage, fields, values, unless_there=True)
    return _chunk(PushMessage.objects.filter(push=push, subscription__in=ids))


def _chunk(rows: Any) -> list[_Sent]:
    rows = rows.filter(state=MessageState.SENDING).select_related("subscription").order_by("pk")
    return [_Sent(row.pk, row.attempts, row.subscription) for row in rows]


def _post_all(
    push: Push,
    alert: Alert,
    chunk: Sequence[_Sent],
    lines: Sequence[PinnedConnection],
    pool: ThreadPoolExecutor,
    origin: str,
) -> list[Reply]:
    said = json.dumps(message_of(alert, push), ensure_ascii=False)
    headers = {
        "Authorization": authorization(origin),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(int(TTL.total_seconds())),
        "Topic": tag_of(alert.article_id),
        "Urgency": "high",
    }
    free: SimpleQueue[PinnedConnection] = SimpleQueue()
    for line in lines:
        free.put(line)

    def post(one: _Sent) -> Reply:
        known = one.subscription
        line = free.get()
        try:
            path = target_of(known.endpoint).path
            return line.post(encrypt(said, known.p256dh, known.auth), headers, path=path)
        except ValueError as error:
            return Reply(0, code=None, error=type(error).__name__, is_unsent=True)
        finally:
            free.put(line)

    return list(pool.map(post, chunk))


def tag_of(article_id: int) -> str:
    """What a later push of the same article replaces."""
    return f"article-{article_id}"


def message_of(alert: Alert, push: Push) -> dict[str, Any]:
    """What a browser gets; a push of the same article replaces an earlier one."""
    return {
        "text": alert.text,
        "url": settings.SITE_URL + alert.article.get_absolute_url(),
        "tag": tag_of(alert.article_id),
        "push": push.pk,
    }


@retried
def _note(push: Push, chunk: Sequence[_Sent], replies: Sequence[Reply]) -> None:
    """Store what became of messages; subscriptions that are gone are deleted, with their rows."""
    now = read_database_clock()
    gone = [one.subscription.pk for one, reply in zip(chunk, replies, strict=True) if reply.code in _GONE]
    rows = [_noted(one, reply, now) for one, reply in zip(chunk, replies, strict=True) if reply.code not in _GONE]
    update_by_ids(PushMessage, ("state", "code", "due_at"), rows)
    if gone:
        PushSubscription.objects.filter(pk__in=gone).delete()
        Push.objects.filter(pk=push.pk).update(gone=F("gone") + len(gone))


def _noted(one: _Sent, reply: Reply, now: datetime) -> list[Any]:
    if reply.is_success:
        return [one.pk, MessageState.ACCEPTED, reply.code, None]
    if reply.code is None and not reply.is_unsent:
        return [one.pk, MessageState.DOUBTFUL, None, None]
    may_pass = reply.code is None or reply.code == 429 or reply.code >= 500
    if not may_pass or one.attempts > len(_PAUSES):
        return [one.pk, MessageState.FAILED, reply.code, None]
    pause = _PAUSES[one.attempts - 1] * (1 + random.uniform(0, _JITTER))  # noqa: S311 (spreads retries, not security)
    asked = timedelta(seconds=min(reply.retry_after or 0, TTL.total_seconds()))
    return [one.pk, MessageState.WAITING, reply.code, now + max(pause, asked)]


@retried
def _refuse(push: Push, host: str) -> None:
    now = read_database_clock()
    ids = _new(push, now).filter(host=host).values_list("pk", flat=True)
    fields = ("push", "subscription", "state", "attempts", "sent_at")
    values = [[push.pk, pk, MessageState.FAILED, 0, now] for pk in ids]
    insert_rows(PushMessage, fields, values, unless_there=True)


# In workers


def _one_after_another(jobs: Sequence[Callable[[], None]]) -> None:
    for job in jobs:
        job()


def _together(jobs: Sequence[Callable[[], None]]) -> None:
    def run(job: Callable[[], None]) -> None:
        try:
            with incidents.watch(logger, "push service", "pushes to it are sent later"):
                job()
        except Exception:  # it is logged
            logger.debug("a push waits")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(_HOSTS, thread_name_prefix="push service") as pool:
        list(pool.map(run, jobs))


def _serve_one(pk: int, stopping: Ending) -> None:
    try:
        with incidents.watch(logger, "pushes", "they are sent later"):
            if push := _take(pk):
                _serve(push, stopping, _together)
    except Exception:  # it is logged
        stopping.wait(_LOOK)
    finally:
        connections.close_all()


_woken = threading.Event()


def wake_pushes() -> None:
    """Let the sender of this process look at once."""
    _woken.set()


@companion
def send_pushes(stopping: Ending) -> None:
    """Send pushes, in each worker; nothing while there are no keys."""
    running: dict[int, threading.Thread] = {}
    while settings.PUSH_KEY and not stopping.is_set():
        try:
            with incidents.watch(logger, "pushes", "they are sent later"):
                stopping.make_room()
                plan()
                running = {pk: thread for pk, thread in running.items() if thread.is_alive()}
                _start(running, _due(read_database_clock()), stopping)
        except Exception:  # it is logged
            connections.close_all()
        _woken.wait(_LOOK)
        _woken.clear()
    for thread in running.values():
        thread.join(1.0)
    connections.close_all()


def _start(running: dict[int, threading.Thread], pks: Collection[int], stopping: Ending) -> None:
    for pk in pks:
        if pk not in running:
            running[pk] = threading.Thread(target=_serve_one, args=[pk, stopping], name=f"push {pk}", daemon=True)
            running[pk].start()


def push_due() -> None:
    """Send all that is due now, in this thread: for tests."""
    plan()
    for pk in _due(read_database_clock()):
        if push := _take(pk):
            _serve(push, Ending(), _one_after_another)
