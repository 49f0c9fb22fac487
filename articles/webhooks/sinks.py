"""The sink of `EVENTS_SINK`: events for what an organisation already runs, such as a queue, instead of HTTP."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from articles import sending
from articles.models import PUBLIC_KINDS, Delivery, Endpoint, Event, EventSink, FeedHead
from articles.webhooks.messages import messages
from articles.webhooks.redis_stream import RedisStream
from scheduling.database import read_database_clock
from scheduling.incidents import incidents
from scheduling.registry import Ending

logger = logging.getLogger(__name__)

_PAGE = 200
_PAUSE = 1.0  # seconds after a failure
_REDIS = ("redis://", "rediss://", "unix://")


@dataclass(frozen=True)
class SinkMessage:
    """An event for a sink."""

    id: str  #: the same each time it is given: who has it may drop it
    kind: str
    object_id: int  #: events about one object are given in their order
    body: str  #: JSON, as for webhooks


class Sink(Protocol):
    """Where events go."""

    def take(self, batch: Sequence[SinkMessage]) -> None:
        """Store these, all or the first ones; raise if any could not be stored: they are given again."""


@lru_cache(maxsize=1)
def sink_of(named: str) -> Sink | None:
    """The sink that the setting names: a Redis address, or a class without arguments; None if it is empty."""
    if not named:
        return None
    if named.startswith(_REDIS):
        return RedisStream(named)
    kind: Any = import_string(named)
    found: Sink = kind()
    return found


def is_behind(sequence: int) -> bool:
    """Whether the sink lacks events up to this number, and no process gives them to it."""
    if not settings.EVENTS_SINK:
        return False
    row, _is_new = EventSink.objects.get_or_create(defaults={"position": sequence}, name=EventSink.ONLY)
    is_free = EventSink.objects.filter(sending.is_free(read_database_clock()), pk=row.pk).exists()
    return is_free and row.position != sequence


def fill(stopping: Ending) -> None:
    """Give the sink what it lacks, in order; what could not be stored is given again."""
    sink, row = sink_of(settings.EVENTS_SINK), sending.take(EventSink.objects.filter(name=EventSink.ONLY))
    if sink is None or row is None:
        return
    own = sending.held(row)
    last = FeedHead.objects.values_list("sequence", flat=True).first() or 0
    own.filter(position__gt=last).update(position=last)  # the numbers have begun again
    try:
        while not stopping.is_set() and sending.renew(own, read_database_clock()):
            stopping.make_room()
            events = _next(own.get().position)
            if not events:
                break
            with incidents.watch(logger, "event sink", "events are given to the sink later"):
                sink.take(_messages(events))
            own.update(position=events[-1].seq)
    except Exception:  # it is logged
        stopping.wait(_PAUSE)
    finally:
        sending.give_back(row)


def _next(position: int) -> list[Event]:
    return list(Event.objects.filter(seq__gt=position).order_by("seq")[:_PAGE])


def _messages(events: Sequence[Event]) -> list[SinkMessage]:
    heard = [Delivery(event=one, object_id=one.object_id, attempts=0) for one in events if one.kind in PUBLIC_KINDS]
    said = messages(Endpoint(is_full=True), heard, read_database_clock())
    return [SinkMessage(one.message_id, one.kind, one.delivery.object_id or 0, one.body) for one in said if one.body]
