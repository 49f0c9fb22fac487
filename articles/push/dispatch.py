"""The sender of pushes: in threads of the workers, after the event *published*, at most once for each subscription.

A row of the ledger is written before a message is sent. What a process that died had written so is in doubt, and is not
sent again: a reader who hears of it late on a page is better than one whom a phone wakes twice.
"""

from __future__ import annotations

import json
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from queue import SimpleQueue
from typing import Any

from django.conf import settings
from django.db import connections
from django.db.models import Count, Exists, F, Min, OuterRef, Value

from articles import sending
from articles.cache import as_readers_see
from articles.models import Alert, Push, PushMessage, PushSubscription, PushSubscriptionQuerySet
from articles.push.keys import authorization, encrypt
from articles.push.plan import is_quiet, plan, why_not
from articles.push.subscriptions import target_of
from articles.webhooks import PinnedConnection, Reply, TargetRefused
from scheduling.database import (
    among,
    insert_for_each,
    insert_rows,
    lock_by_ids,
    read_database_clock,
    retried,
    update_by_ids,
)
from scheduling.incidents import incidents
from scheduling.registry import Ending, companion

logger = logging.getLogger(__name__)

TTL = timedelta(hours=1)
"""How long push services keep a message for a browser that is off; after that nothing of a push is sent."""

_LOOK = 1.0  # seconds between two looks
_CONNECTIONS = 32  # to one push service: they answer in about 50 ms, and 10,000 readers are to hear of it in 30 s
_SMALLEST_CHUNK = 16  # messages, at first and to a slow service
_LARGEST_CHUNK = 128  # messages to a quick service that are written to the ledger at once, and in doubt if it dies then
_QUICK = 0.5  # seconds for a chunk
_LONGEST_CHUNK = 1.0  # seconds after which no request begins, so that the lease outlasts those that have begun
_TURN = 20.0  # seconds after which a service makes room for what waits for others
_HOSTS = 8  # push services at once
_PAUSES = (timedelta(seconds=5), timedelta(seconds=30), timedelta(minutes=5))
"""After each refusal that may pass; a service may ask for a longer one."""
_JITTER = 0.2
_SILENT = 2  # chunks without any answer, after which a service gets a pause
_REST = timedelta(minutes=1)
_GONE = (404, 410)

State, MessageState = Push.State, PushMessage.State


# Taking a push


def take(pk: int) -> Push | None:
    """Lease a push for this thread; what another had begun to send and not noted is in doubt."""
    push = sending.take(Push.objects.filter(pk=pk, state=State.SENDING))
    if push is not None:
        PushMessage.objects.filter(push=pk, state=MessageState.SENDING).update(state=MessageState.DOUBTFUL)
    return push


def due_pushes() -> list[int]:
    """The pushes with something to be sent that no process sends."""
    now = read_database_clock()
    rows = Push.objects.filter(sending.is_free(now), state=State.SENDING, due_at__lte=now)
    return list(rows.order_by("pk").values_list("pk", flat=True))


def serve(push: Push, stopping: Ending) -> None:
    """Send what is due of a leased push, to all its services at once, and say when it goes on or that it is over."""

    def run(host: str) -> bool:
        try:
            with incidents.watch(logger, "push service", "pushes to it are sent later"):
                return _serve_host(push, host, stopping)
        except Exception:  # it is logged
            return True  # what is left must not wait until the end of a pause that another service has asked for
        finally:
            connections.close_all()

    has_more = False
    try:
        with ThreadPoolExecutor(_HOSTS, thread_name_prefix="push service") as pool:
            has_more = any(list(pool.map(run, _hosts(push))))
    finally:
        _finish(push, stopping, has_more=has_more)


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
def _finish(push: Push, stopping: Ending, *, has_more: bool) -> None:
    now = read_database_clock()
    if stopping.is_set():
        sending.give_back(push)
        return
    waiting = PushMessage.objects.filter(push=push, state=MessageState.WAITING)
    next_at = now if has_more else waiting.aggregate(at=Min("due_at"))["at"]
    if next_at is None and _new(push, now).exists():
        next_at = now + _REST  # a service that was silent
    values: dict[str, Any] = _counts(push)
    if next_at is None or next_at >= push.created_at + TTL:
        waiting.update(state=MessageState.FAILED)
        values |= {**_counts(push), "ended_at": now}
        sending.held(push).filter(state=State.SENDING).update(state=State.SENT)
    else:
        values["due_at"] = next_at
    sending.give_back(push, **values)


def _counts(push: Push) -> dict[str, int]:
    rows = PushMessage.objects.filter(push=push).order_by().values_list("state")
    found = dict(rows.annotate(number=Count("pk")))
    names = {"accepted": MessageState.ACCEPTED, "failed": MessageState.FAILED, "doubtful": MessageState.DOUBTFUL}
    return {name: found.get(state.value, 0) for name, state in names.items()}


# Sending to one push service


def _serve_host(push: Push, host: str, stopping: Ending) -> bool:
    """Send to one service until nothing more is due, or its turn is over: then there may be more."""
    silent, after, size, end = 0, 0, _SMALLEST_CHUNK, time.monotonic() + _TURN
    first = PushSubscription.objects.filter(host=host).values_list("endpoint", flat=True).first()
    try:
        target = target_of(first or "")
    except TargetRefused:  # the environment allowed it before
        _refuse(push, host)
        return False
    with ThreadPoolExecutor(_CONNECTIONS, thread_name_prefix="push") as pool:
        lines = [PinnedConnection(target, repeats=False) for _ in range(_CONNECTIONS)]
        try:
            origin = f"{target.scheme}://{target.host_header}"
            while silent < _SILENT and not stopping.is_set():
                alert = _still(push)
                chunk, after = _next(push, host, size, after) if alert is not None else ([], after)
                if alert is None or not chunk:
                    return False
                began = time.monotonic()
                replies = _post_all(push, alert, chunk, lines, pool, origin)
                _note(push, chunk, replies)
                # The state is read before each chunk, so one for a slow service has few messages.
                quick = _QUICK / (time.monotonic() - began) * sum(reply is not None for reply in replies)
                size = max(_SMALLEST_CHUNK, min(round(quick), 2 * size, _LARGEST_CHUNK))
                silent = silent + 1 if _is_silent(replies) else 0
                if time.monotonic() >= end:
                    return silent < _SILENT
                stopping.make_room()
        finally:
            for line in lines:
                line.close()
    return False


def _is_silent(replies: Sequence[Reply | None]) -> bool:
    codes = [reply.code for reply in replies if reply is not None]
    return bool(codes) and not any(codes)


def _still(push: Push) -> Alert | None:
    """Read whether the alert may still be sent; else it is cancelled."""
    now = read_database_clock()
    if now >= push.created_at + TTL:
        return None
    # Its address has the words of the headline that readers see, also before a worker has stored that.
    with as_readers_see():
        alert = Alert.objects.select_related("article").filter(pushes=push.pk).first()
    reason = Push.Reason.OFF if alert is None else why_not(alert, now)
    if alert and not reason and is_quiet(now) and not (alert.in_quiet_hours or is_quiet(push.created_at)):
        reason = Push.Reason.QUIET  # they have begun since; who pushed within them was allowed to
    if reason:
        own = sending.held(push).filter(state=State.SENDING)
        own.update(state=State.CANCELLED, reason=reason, ended_at=now)
        return None
    begins = alert.begins_at if alert else None
    return alert if begins and begins <= now else None  # else it has got a later time since, and waits


@dataclass
class _Sent:
    """A row of the ledger with its subscription."""

    pk: int
    attempts: int
    subscription: PushSubscription


@retried
def _next(push: Push, host: str, size: int, after: int) -> tuple[list[_Sent], int]:
    """Write the ledger for the next messages to a service: none while it has asked for a pause.

    And the last subscription that it has: the next ones are `after` it, so that no chunk reads all before again. The
    lease is renewed, and locked with it: of two processes one writes, though the other stood still for long.
    """
    now = read_database_clock()
    if not sending.renew(sending.held(push).filter(state=State.SENDING), now):
        return [], after
    waiting = PushMessage.objects.filter(state=MessageState.WAITING, subscription__host=host)
    # Not joined: all rows of all pushes to the service would be read.
    pushes = list(Push.objects.filter(state=State.SENDING).values_list("pk", flat=True))
    if waiting.filter(push__in=pushes, code=429, due_at__gt=now).exists():
        return [], after
    wants = Exists(PushSubscription.objects.of_topics(push.article.channel_id).filter(pk=OuterRef("subscription")))
    due = waiting.filter(push=push, due_at__lte=now).order_by("due_at").values_list("pk", flat=True)
    if off := list(due.filter(~wants)[:_LARGEST_CHUNK]):  # who has turned the topic off since the service refused it
        PushMessage.objects.filter(pk__in=among(off)).update(state=MessageState.FAILED)
    again = list(due.filter(wants)[:size])
    if again:
        PushMessage.objects.filter(pk__in=again).update(
            state=MessageState.SENDING, attempts=F("attempts") + 1, sent_at=now
        )
        return _chunk(PushMessage.objects.filter(pk__in=again)), after
    new = _new(push, now).filter(host=host).order_by("pk").values_list("pk", flat=True)
    while ids := list(new.filter(pk__gt=after)[:size]):
        after = ids[-1]
        if free := _not_full(ids, now):
            values = ([push.pk, pk, MessageState.SENDING, 1, now] for pk in free)
            fields = ("push", "subscription", "state", "attempts", "sent_at")
            insert_rows(PushMessage, fields, values, unless_there=True)
            return _chunk(PushMessage.objects.filter(push=push, subscription__in=free)), after
    return [], after


def _not_full(ids: Sequence[int], now: datetime) -> list[int]:
    """Those of these subscriptions, locked, that have not had enough: another push may have just been written."""
    locked = [one.pk for one in lock_by_ids(PushSubscription, ids)]
    free = PushSubscription.objects.filter(pk__in=among(locked)).not_full(now, most=settings.PUSH_PER_DAY)
    return list(free.order_by("pk").values_list("pk", flat=True))


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
) -> list[Reply | None]:
    """What came back; None for those that were not sent: the service is slow, or has asked for a pause."""
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
    end, paused = time.monotonic() + _LONGEST_CHUNK, threading.Event()

    def post(one: _Sent) -> Reply | None:
        known = one.subscription
        line = free.get()
        try:
            if paused.is_set() or time.monotonic() > end:
                return None
            path = target_of(known.endpoint).path
            reply = line.post(encrypt(said, known.p256dh, known.auth), headers, path=path)
            if reply.code == 429:
                paused.set()
            return reply
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
def _note(push: Push, chunk: Sequence[_Sent], replies: Sequence[Reply | None]) -> None:
    """Store what became of messages; subscriptions that are gone are deleted, with their rows."""
    now = read_database_clock()
    sent = [(one, reply) for one, reply in zip(chunk, replies, strict=True) if reply is not None]
    gone = [one.subscription.pk for one, reply in sent if reply.code in _GONE]
    rows = [_noted(one, reply, now) for one, reply in sent if reply.code not in _GONE]
    # What was not sent is next, unless the service is silent or has asked for a pause.
    asked = [due_at for _pk, _state, _attempts, code, due_at in rows if code == 429 and due_at]
    again = now + _REST if _is_silent(replies) else max(asked, default=now)
    unsent = [one for one, reply in zip(chunk, replies, strict=True) if reply is None]
    rows += [[one.pk, MessageState.WAITING, one.attempts - 1, None, again] for one in unsent]
    update_by_ids(PushMessage, ("state", "attempts", "code", "due_at"), rows)
    if gone:
        PushSubscription.objects.filter(pk__in=gone).delete()
        Push.objects.filter(pk=push.pk).update(gone=F("gone") + len(gone))


def _noted(one: _Sent, reply: Reply, now: datetime) -> list[Any]:
    if reply.is_success:
        return [one.pk, MessageState.ACCEPTED, one.attempts, reply.code, None]
    if reply.code is None and not reply.is_unsent:
        return [one.pk, MessageState.DOUBTFUL, one.attempts, None, None]
    may_pass = reply.code is None or reply.code == 429 or reply.code >= 500
    if not may_pass or one.attempts > len(_PAUSES):
        return [one.pk, MessageState.FAILED, one.attempts, reply.code, None]
    pause = _PAUSES[one.attempts - 1] * (1 + random.uniform(0, _JITTER))  # noqa: S311 (spreads retries, not security)
    asked = timedelta(seconds=min(reply.retry_after or 0, TTL.total_seconds()))
    return [one.pk, MessageState.WAITING, one.attempts, reply.code, now + max(pause, asked)]


@retried
def _refuse(push: Push, host: str) -> None:
    now = read_database_clock()
    insert_for_each(
        PushMessage,
        _new(push, now).filter(host=host).order_by(),
        push_id=Value(push.pk),
        subscription_id=F("pk"),
        state=Value(MessageState.FAILED.value),
        attempts=Value(0),
        sent_at=Value(now),
    )


# In workers


class PushDispatcher(sending.Dispatcher):
    """Plans pushes, and sends them."""

    def __init__(self) -> None:
        super().__init__("pushes")

    def look(self, stopping: Ending) -> float:
        """Start threads for the pushes with something to be sent; when to look again."""
        self.prepare(stopping)
        plan()
        for pk in due_pushes():
            if pk not in self.running:
                self.start(pk, partial(_serve_one, pk, stopping), stopping)
        return _LOOK


def _serve_one(pk: int, stopping: Ending) -> None:
    if push := take(pk):
        serve(push, stopping)


_dispatcher = PushDispatcher()


def wake_pushes() -> None:
    """Let the sender of this process look at once."""
    _dispatcher.wake()


@companion
def send_pushes(stopping: Ending) -> None:
    """Send pushes, in each worker; nothing while there are no keys."""
    if settings.PUSH_KEY:
        _dispatcher.run(stopping)
