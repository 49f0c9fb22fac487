"""How long events and deliveries are kept."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, Min, OuterRef, Q, QuerySet

from articles.models import Delivery, Endpoint, Event, EventSink, FeedHead
from scheduling.database import among, delete_by_ids, read_database_clock, retried
from scheduling.incidents import incidents

logger = logging.getLogger(__name__)

_AT_ONCE = 1_000
_WAITS_FOR = 4  # times as long, for webhooks that have not got them
_RECENT = timedelta(days=7)


def prune_events() -> int:
    """Delete a page of old events with their deliveries, unless a webhook has not got them; 0, as it repairs nothing.

    What readers saw last of each article stays: the change feed has it. What a webhook has not got stays four times as
    long, and its loss is logged as an error, and a problem for a week.
    """
    now, age = read_database_clock(), timedelta(days=settings.EVENT_DAYS)
    heard = _heard_by_all()
    _delete(_old(now - age).filter(seq__lte=heard).exclude(_is_pending()))
    if lost := _delete(_old(now - _WAITS_FOR * age).filter(Q(seq__gt=heard) | _is_pending()), lost_at=now):
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


def count_lost(now: datetime) -> int:
    """How many events webhooks have missed lately."""
    return FeedHead.objects.filter(lost_at__gt=now - _RECENT).values_list("lost", flat=True).first() or 0


@retried
def _delete(events: QuerySet[Event], *, lost_at: datetime | None = None) -> int:
    ids = list(events.order_by("numbered_at").values_list("pk", flat=True)[:_AT_ONCE])
    if ids and lost_at:  # the head is locked first, as by the sequencer
        head = FeedHead.objects.select_for_update().get()
        head.lost, head.lost_at = count_lost(lost_at) + len(ids), lost_at
        head.save(update_fields=["lost", "lost_at"])
    if ids:
        delete_by_ids(Delivery, Delivery.objects.filter(event__in=among(ids)).values_list("pk", flat=True))
        delete_by_ids(Event, ids)
    return len(ids)
