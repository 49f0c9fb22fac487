"""How long events and deliveries are kept."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, Min, OuterRef, Q, QuerySet
from prometheus_client import Counter

from articles.models import Delivery, Endpoint, Event, EventSink
from scheduling.database import among, delete_by_ids, read_database_clock, retried
from scheduling.incidents import incidents

logger = logging.getLogger(__name__)

_lost = Counter("headline_events_lost", "Events that were deleted before every webhook got them")

_AT_ONCE = 1_000
_WAITS_FOR = 4  # times as long, for webhooks that have not got them


def prune_events() -> int:
    """Delete a page of old events with their deliveries, unless a webhook has not got them; 0, as it repairs nothing.

    What readers saw last of each article stays: the change feed has it. What a webhook has not got stays four times as
    long, and its loss is logged as an error, and counted.
    """
    now, age = read_database_clock(), timedelta(days=settings.EVENT_DAYS)
    heard = _heard_by_all()
    _delete(_old(now - age).filter(seq__lte=heard).exclude(_is_pending()))
    if lost := _delete(_old(now - _WAITS_FOR * age).filter(Q(seq__gt=heard) | _is_pending())):
        _lost.inc(lost)
        incidents.failed(logger, "events", f"{lost} events were deleted before every webhook got them")
    tests = Delivery.objects.filter(event__isnull=True, due_at__lt=now - age)
    delete_by_ids(Delivery, list(tests.values_list("pk", flat=True)[:_AT_ONCE]))
    return 0


def _old(before: datetime) -> QuerySet[Event]:
    return Event.objects.filter(numbered_at__lt=before, feed_seq__isnull=True)


def _is_pending() -> Exists:
    return Exists(Delivery.objects.pending().filter(event=OuterRef("pk")))


def _heard_by_all() -> int:
    """The number up to which each webhook has its deliveries."""
    models = (Endpoint, EventSink) if settings.EVENTS_SINK else (Endpoint,)  # a sink that was removed needs none
    rows = (model._default_manager.aggregate(least=Min("position"))["least"] for model in models)
    return min((least for least in rows if least is not None), default=2**62)


@retried
def _delete(events: QuerySet[Event]) -> int:
    ids = list(events.order_by("numbered_at").values_list("pk", flat=True)[:_AT_ONCE])
    if ids:
        delete_by_ids(Delivery, Delivery.objects.filter(event__in=among(ids)).values_list("pk", flat=True))
        delete_by_ids(Event, ids)
    return len(ids)
