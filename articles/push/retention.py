"""How long it is kept who got which push, and how long a subscription to which nothing can be sent."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Exists, OuterRef

from articles.models import PushMessage, PushSubscription
from scheduling.database import delete_by_ids, read_database_clock, retried

_AT_ONCE = 1_000
_LEAST_FAILED = 2
"""Pushes that failed since the old one: while hardly anything is pushed, nothing is known of a subscription."""

ACCEPTED = PushMessage.State.ACCEPTED


def prune_pushes() -> int:
    """Delete a page of the oldest rows of the ledger, and the subscriptions that are dead; 0, as it repairs nothing.

    A subscription is dead if an old push failed and no later one was accepted. Push services take messages for browsers
    that are off, so readers who were away are not forgotten.
    """
    since = read_database_clock() - timedelta(days=settings.PUSH_DAYS)
    rows = PushMessage.objects.order_by("pk").values_list("pk", "subscription", "state", "sent_at")[:_AT_ONCE]
    old = [(pk, subscription, state) for pk, subscription, state, sent_at in rows if sent_at < since]
    failed = {subscription for _pk, subscription, state in old if state != ACCEPTED}
    if old:
        _delete([pk for pk, _subscription, _state in old], failed, since)
    return 0


@retried
def _delete(old: Collection[int], failed: Collection[int], since: datetime) -> None:
    later = PushMessage.objects.filter(sent_at__gte=since)
    tried = later.filter(subscription__in=failed).order_by().values_list("subscription")
    often = tried.annotate(number=Count("pk")).filter(number__gte=_LEAST_FAILED).values_list("subscription", flat=True)
    taken = later.filter(subscription=OuterRef("pk"), state=ACCEPTED)
    PushSubscription.objects.filter(pk__in=[*often]).exclude(Exists(taken)).delete()
    delete_by_ids(PushMessage, old)
