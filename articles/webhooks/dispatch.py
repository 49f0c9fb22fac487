"""The dispatcher: gives each endpoint its events, and sends them, at least once and in order for each object.

It runs in threads of each worker, beside the tasks, so no publication waits for a receiver. One process at a time sends
to an endpoint, by a lease that expires when it dies: then another sends again what was not noted, with the same ids.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import Exists, Min, OuterRef, Q
from django.db.models.functions import Left

from articles import sending
from articles.distribution import catch_up
from articles.models import Article, Delivery, Endpoint, Event, FeedHead
from articles.task_types import MAIL
from articles.webhooks.failures import LONGEST_PAUSE, PAUSES, asks_for_pause, health, pause
from articles.webhooks.messages import EndpointMessage, messages
from articles.webhooks.send import PinnedConnection, Reply
from articles.webhooks.signing import headers
from articles.webhooks.sinks import fill, is_behind
from articles.webhooks.target import TargetRefused, parse
from scheduling.database import among, database_now, insert_rows, read_database_clock, retried, update_by_ids
from scheduling.registry import Ending, companion
from scheduling.services import add_task

_AT_MOST = PAUSES[2]  # for what failed when its receiver came back
_WAS_AWAY = Q(attempts=0) | Q(code__isnull=True) | Q(code__in=(429, 502, 503, 504))
"""Without an answer that says something of the event."""
_ABOUT = 3  # letters of a kind that tell what an object is: an article, a release, a front

AT_ONCE = 8  # requests to one endpoint
_LOOK = 0.1  # seconds between two looks for new events
_GRACE, _BURST = timedelta(seconds=1), timedelta(seconds=30)
"""How long what has gone live by the clock is left to the workers to write, and while this one is busy with that."""
_IDLE = 1.0  # while there is no endpoint
_TURN = 20.0  # seconds after which an endpoint with more to be sent makes room for others
_MOST_RUNNING = 40  # endpoints to which a process sends at once
_MOST_FAILING = 20  # of them those that fail, so that they never take the place of all others
_PAGE = 500  # events that are given to an endpoint in one transaction at most
_PAGES = 4  # times as many as are sent next: the first of a burst does not wait for all the others
_LARGEST_CHUNK = 128  # messages that are prepared at once for a quick receiver
_SPARE = 2 * AT_ONCE  # deliveries that are read beyond a chunk, as some are of the same object
_QUICK = 0.5  # seconds for a chunk
_LONGEST_CHUNK = 1.0  # seconds after which what was prepared may be true no more, and is prepared again

_SINK = 0  # stands for the sink among the ids of endpoints

Key = Delivery.State


# Which events an endpoint hears of


def give_events(endpoint: Endpoint, most: int = _PAGE) -> int:
    """Make deliveries of the next events, in the order of their numbers; how many there were, 0 without the lease."""
    events = _give_page(endpoint, most)
    if events:  # after the commit: a transaction that collides is run again, and begins where it began before
        endpoint.position = events[-1].seq or endpoint.position
    return len(events)


@retried
def _give_page(endpoint: Endpoint, most: int) -> Sequence[Event]:
    rows = Event.objects.filter(seq__gt=endpoint.position).only("seq")
    events = list(rows.order_by("seq")[:most])
    now = read_database_clock()
    # Not while it is paused: it may have no channels any more, and would be given all events.
    held = sending.held(endpoint).filter(enabled=True)
    if not (events and sending.renew(held, now, position=events[-1].seq)):
        return []
    heard = Event.objects.filter(heard_by(endpoint), pk__in=among([one.pk for one in events]))
    add_deliveries(endpoint, list(heard.only("object_id").order_by("seq")), now)
    return events


def add_deliveries(endpoint: Endpoint, events: Sequence[Event], now: datetime) -> None:
    """Make deliveries of these events, unless there are some."""
    fields = ("endpoint", "event", "object_id", "state", "attempts", "due_at", "kind", "error", "body", "response")
    rows = ([endpoint.pk, one.pk, one.object_id, Key.PENDING, 0, now, "", "", "", ""] for one in events)
    insert_rows(Delivery, fields, rows, unless_there=True)


def heard_by(endpoint: Endpoint) -> Q:
    """The events that the endpoint hears of.

    With a choice of channels or languages, it also hears of an article that it has heard of before: this one left.
    """
    kinds = Q(kind__in=endpoint.heard_kinds())
    channels = list(endpoint.channels.values_list("pk", flat=True))
    if not (channels or endpoint.languages):
        return kinds
    chosen, known = Article.objects.all(), Delivery.objects.filter(endpoint=endpoint, object_id=OuterRef("object_id"))
    if channels:
        chosen = chosen.filter(channel__in=channels)
    if endpoint.languages:
        chosen = chosen.filter(language__in=endpoint.languages)
    is_other = ~Q(kind__startswith="article.")
    is_known = Exists(known.filter(event__kind__startswith="article."))
    return kinds & (is_other | Exists(chosen.filter(pk=OuterRef("object_id"))) | is_known)


# Sending


def take(endpoint_id: int) -> Endpoint | None:
    """Lease an endpoint for this thread; None if another has it."""
    endpoint = sending.take(Endpoint.objects.filter(is_ready(read_database_clock()), pk=endpoint_id, enabled=True))
    is_ahead = Exists(Event.objects.filter(numbered_at__gt=database_now()))
    heads = FeedHead.objects.annotate(is_ahead=is_ahead).values_list("sequence", "is_ahead")
    last, is_set_back = heads.first() or (0, False)
    if endpoint is not None and endpoint.position > last:  # the numbers have begun again
        endpoint.position = last
        endpoint.save(update_fields=["position"])
    if endpoint is not None and is_set_back:  # what was to be sent at once would wait until it is so late again
        now = read_database_clock()
        endpoint.deliveries.pending().filter(attempts=0, due_at__gt=now).update(due_at=now)
    return endpoint


def serve(endpoint: Endpoint, stopping: Ending) -> None:
    """Send what is due to a leased endpoint until nothing more is, or its turn is over, and give the lease back."""
    end = time.monotonic() + _TURN
    url, lines, size = endpoint.url, _lines(endpoint), 1 if stopping.is_busy() else AT_ONCE

    def goes_on() -> bool:
        return not stopping.is_set() and time.monotonic() < end and _is_ours(endpoint)

    try:
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook") as pool:
            while chunk := _given(endpoint, size, goes_on):
                if endpoint.url != url:  # it holds at once, also for what has waited
                    _close(lines)
                    url, lines = endpoint.url, _lines(endpoint)
                began = time.monotonic()
                _send(endpoint, chunk, lines, pool)
                # What is said to a slow receiver must be true when it is said, so few messages are prepared at once.
                quick = _QUICK / (time.monotonic() - began) * len(chunk)
                size = max(AT_ONCE, min(round(quick), 2 * size, _LARGEST_CHUNK))
                stopping.make_room()  # after the first ones: they go at once, also in a burst
                if not goes_on():
                    break
    finally:
        _close(lines)
        sending.give_back(endpoint)


def _given(endpoint: Endpoint, size: int, goes_on: Callable[[], bool]) -> list[Delivery]:
    """What to send next, also of events that it has not been given yet, while it `goes_on`: there may be many pages."""
    chunk, most = _next(endpoint, size), _PAGES * size
    while len(chunk) < size and give_events(endpoint, min(most, _PAGE)):
        chunk, most = _next(endpoint, size), 2 * most  # it may hear of few of them
        if len(chunk) < size and not goes_on():
            return []
    return chunk


def _lines(endpoint: Endpoint) -> list[PinnedConnection]:
    try:
        target = parse(endpoint.url)
    except TargetRefused:  # the environment allowed it before
        return []
    return [PinnedConnection(target) for _ in range(AT_ONCE)]


def _close(lines: Sequence[PinnedConnection]) -> None:
    for line in lines:
        line.close()


def _is_ours(endpoint: Endpoint) -> bool:
    """Renew the lease, and read what may have changed; False if it is another's, paused or asks for a pause."""
    now = read_database_clock()
    if not sending.renew(sending.held(endpoint).filter(is_ready(now), enabled=True), now):
        return False
    endpoint.refresh_from_db()
    return True


def is_ready(now: datetime) -> Q:
    """Whether an endpoint has not asked for a pause."""
    return Q(resumes_at__isnull=True) | _has_come("resumes_at", now)


def _has_come(name: str, now: datetime) -> Q:
    """Whether a time has come; one that is later than any pause is of a clock that was set back since."""
    return Q((f"{name}__lte", now)) | Q((f"{name}__gt", now + LONGEST_PAUSE))


_READ = (
    *("endpoint", "object_id", "attempts", "due_at", "late_ms"),
    *(f"event__{name}" for name in ("kind", "object_id", "revision", "planned_at", "happened_at", "payload", "seq")),
)


def _next(endpoint: Endpoint, size: int) -> list[Delivery]:
    """The next deliveries that are due: of each object only the first, so that no later one overtakes it.

    Not even when the first one waits for its next attempt, unless a receiver that takes others has refused it.
    """
    now, pending = read_database_clock(), endpoint.deliveries.pending().annotate(about=Left("event__kind", _ABOUT))
    earlier = pending.filter(
        object_id=OuterRef("object_id"), about=OuterRef("about"), event__seq__lt=OuterRef("event__seq")
    )
    if not endpoint.failing_since:
        earlier = earlier.filter(_WAS_AWAY)
    due = pending.filter(~Exists(earlier), _has_come("due_at", now)).select_related("event").only(*_READ)
    first: dict[Any, Delivery] = {}
    for one in due.order_by("due_at", "pk")[: size + _SPARE]:
        first.setdefault((one.event.kind[:_ABOUT], one.object_id) if one.event else one.pk, one)
    return list(first.values())[:size]


def _send(
    endpoint: Endpoint, chunk: Sequence[Delivery], lines: Sequence[PinnedConnection], pool: ThreadPoolExecutor
) -> None:
    now, read_at = read_database_clock(), time.monotonic()
    said, keys = messages(endpoint, chunk, now), endpoint.secrets_at(now)
    answered = [(one, Reply(0)) for one in said if not one.body]
    left = iter([one for one in said if one.body])
    if not lines:
        answered += [(one, Reply(0, error=TargetRefused.code)) for one in left]
    # What is left then, or when the receiver has asked for a pause, is sent with the next ones, while the lease holds.
    end, paused = time.monotonic() + _LONGEST_CHUNK, threading.Event()

    def post(line: PinnedConnection) -> None:
        """Send one after the other, beside the other threads: to hand over each would take as long as to send it."""
        while not paused.is_set() and time.monotonic() <= end and (message := next(left, None)):
            # By the database's clock: a receiver refuses what is some minutes off.
            at = int(now.timestamp() + time.monotonic() - read_at)
            signed = headers(message.message_id, at, message.body, keys)
            answer = line.post(message.body, signed)
            answered.append((message, answer))
            if asks_for_pause(answer):
                paused.set()

    list(pool.map(post, lines[: len(chunk)]))
    _note(endpoint, answered)


@retried
def _note(endpoint: Endpoint, answered: Sequence[tuple[EndpointMessage, Reply]]) -> None:
    """Store the answers, and the health of the endpoint; a task mails its owner, if so."""
    now = read_database_clock()
    names = ("state", "attempts", "due_at", "sent_at", "kind", "code", "ms", "late_ms", "error", "body", "response")
    update_by_ids(Delivery, names, (_noted(message, answer, now) for message, answer in answered))
    outcome = health(endpoint, [answer for message, answer in answered if message.body], now)
    same = Endpoint.objects.filter(pk=endpoint.pk, url=endpoint.url, failing_since=endpoint.failing_since)
    if "enabled" in outcome.values:  # who has paused it since also said why
        same = same.filter(enabled=True)
    if outcome.values and not same.update(**outcome.values):
        return  # it has another URL since, or a person has resumed it, of which this says nothing
    if outcome.is_back:
        _wait_no_longer(endpoint, now)
    if outcome.mail:
        values = {"webhook": endpoint.pk, "why": outcome.mail}
        add_task(MAIL, execute_time=now, parameters=values, key=f"webhook {endpoint.pk}")


def _wait_no_longer(endpoint: Endpoint, now: datetime) -> None:
    """Let what waits since the receiver was away be sent next, in the order of the events.

    Not what it has refused itself, nor what failed just now: they would use up their attempts at each success. But
    what follows such a one, such as a retraction, waits for it, and no longer than half an hour.
    """
    waiting = endpoint.deliveries.pending()
    least = waiting.aggregate(at=Min("due_at"))["at"]
    was_away = waiting.filter(_WAS_AWAY)
    was_away.filter(sent_at__gte=now, due_at__gt=now + _AT_MOST).update(due_at=now + _AT_MOST)
    was_away.exclude(sent_at__gte=now).update(due_at=min(least or now, now))


def _noted(message: EndpointMessage, answer: Reply, now: datetime) -> list[Any]:
    delivery = message.delivery
    attempts = delivery.attempts + 1
    state, due_at = Key.PENDING, now
    if not message.body:
        state = Key.DROPPED
    elif answer.is_success:
        state = Key.DELIVERED
    elif attempts > len(PAUSES) or delivery.event is None:
        state = Key.FAILED
    else:
        due_at = now + pause(attempts, answer)
    late = delivery.late_ms if delivery.late_ms is not None else message.late_ms
    return [
        delivery.pk, state, attempts, due_at, now, message.kind, answer.code, answer.ms, late, answer.error,
        message.body, answer.text,
    ]  # fmt: skip


# In each worker


class WebhookDispatcher(sending.Dispatcher):
    """Numbers new events, and sends to the endpoints and the sink."""

    def __init__(self) -> None:
        super().__init__("webhooks")
        self._turns: dict[int, int] = {}  # endpoint to the number of its last turn
        self._sequence: int | None = None  # of the last event at the last look

    def look(self, stopping: Ending) -> float:
        """Number new events, and start threads for the endpoints that have something to be sent; when to look again."""
        if not (settings.EVENTS_SINK or Endpoint.objects.filter(enabled=True).exists()):
            return _IDLE
        self.prepare(stopping)
        head = catch_up(grace=_BURST if stopping.is_busy() else _GRACE)
        if _SINK not in self.running and is_behind(head.sequence):
            self.start(_SINK, partial(fill, stopping), stopping)
        due = sorted(due_endpoints(head.sequence), key=lambda one: (one[1], self._turns.get(one[0], 0)))
        for pk, is_failing in due:
            if pk in self.running:
                continue
            if len(self.running) >= (_MOST_FAILING if is_failing else _MOST_RUNNING):
                continue
            self._turns[pk] = max(self._turns.values(), default=0) + 1
            self.start(pk, partial(_serve_one, pk, stopping), stopping)
        if head.sequence != self._sequence:  # what follows in a burst waits for the articles
            self._sequence = head.sequence
            stopping.make_room()
        return _LOOK


_dispatcher = WebhookDispatcher()


def wake() -> None:
    """Let the dispatcher of this process look at once."""
    _dispatcher.wake()


def due_endpoints(sequence: int) -> Iterator[tuple[int, bool]]:
    """The endpoints with something to be sent that no process sends to: id, and whether they fail."""
    now = read_database_clock()
    due = Delivery.objects.pending().filter(_has_come("due_at", now), endpoint=OuterRef("pk"))
    rows = Endpoint.objects.filter(sending.is_free(now), is_ready(now), enabled=True).annotate(is_due=Exists(due))
    rows = rows.filter(Q(is_due=True) | ~Q(position=sequence))
    for pk, since in rows.values_list("pk", "failing_since"):
        yield pk, since is not None


def _serve_one(endpoint_id: int, stopping: Ending) -> None:
    if endpoint := take(endpoint_id):
        serve(endpoint, stopping)


@companion
def send_events(stopping: Ending) -> None:
    """Send events to endpoints, in each worker."""
    _dispatcher.run(stopping)
