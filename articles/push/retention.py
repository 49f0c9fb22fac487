"""How long it is kept who got which push, and how long a subscription to which nothing can be sent."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count, Exists, OuterRef

from articles.models import Push, PushMessage, PushSubscription
from scheduling.database import delete_by_ids, read_database_clock, retried

_AT_ONCE = 1_000
_LEAST_FAILED = 2
"""Pushes that failed since the old one: while hardly anything is pushed, nothing is known of a subscription."""

State = PushMessage.State


def prune_pushes() -> int:
    """Delete a page of the oldest rows of the ledger, and the subscriptions that are dead; 0, as it repairs nothing.

    A subscription is dead if an old push failed and no later one was accepted, though some were for others: a wrong
    key, or a firewall, fails all. Push services take messages for browsers that are off, so readers who were away are
    not forgotten.
    """
    since = read_database_clock() - timedelta(days=settings.PUSH_DAYS)
    rows = PushMessage.objects.order_by("pk").values_list("pk", "subscription", "state", "sent_at")[:_AT_ONCE]
    old = [(pk, subscription, state) for pk, subscription, state, sent_at in rows if sent_at < since]
    failed = {subscription for _pk, subscription, state in old if state != State.ACCEPTED}
    if old:
        _delete([pk for pk, _subscription, _state in old], failed, since)
    return 0


@retried
def _delete(old: Collection[int], failed: Collection[int], since: datetime) -> None:
    if Push.objects.filter(created_at__gte=since, accepted__gt=0).exists():
        _forget(failed, since)
    delete_by_ids(PushMessage, old)


def _forget(failed: Collection[int], since: datetime) -> None:
    later = PushMessage.objects.filter(sent_at__gte=since)
    over = later.filter(subscription__in=failed, state__in=(State.FAILED, State.DOUBTFUL)).order_by()
    tried = over.values_list("subscription").annotate(number=Count("pk")).filter(number__gte=_LEAST_FAILED)
    known = later.filter(subscription=OuterRef("pk")).exclude(state__in=(State.FAILED, State.DOUBTFUL))
    PushSubscription.objects.filter(pk__in=[pk for pk, _number in tried]).exclude(Exists(known)).delete()
