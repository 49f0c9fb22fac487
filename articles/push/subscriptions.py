"""Subscribing to pushes, and ending that."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import IntegrityError
from django.utils.translation import gettext_lazy as _

from articles.exceptions import ArticleError
from articles.limits import MOST_PUSH_TOPICS, PUSH_ADDRESS_LENGTH
from articles.models import Channel, PushSubscription
from articles.push.keys import WrongKey, check_keys
from articles.webhooks import Target, TargetRefused, parse
from scheduling.database import retried, savepoint

BREAKING = "breaking"
"""The topic of all alerts; the others are ids of channels."""

_SERVICES = (
    "fcm.googleapis.com",
    ".push.services.mozilla.com",
    ".push.apple.com",
    ".notify.windows.com",
)
"""The push services of browsers; with a full stop, all names below."""


class SubscriptionRefused(ArticleError):
    """No browser could receive messages so."""

    code = "subscription_refused"
    message = _("This is no subscription of a known push service.")


@dataclass(frozen=True)
class GivenSubscription:
    """What a browser says of its subscription."""

    endpoint: str
    p256dh: str
    auth: str


def target_of(endpoint: str) -> Target:
    """Where messages for an address go. Raises `TargetRefused` unless a known push service or a listed host has it."""
    target = parse(endpoint, listed=settings.PUSH_HOSTS)
    named = any(_is_below(target.host, service) for service in _SERVICES)
    if target.is_listed and not named:
        return target
    if not named or target.scheme != "https" or target.port != 443:
        raise TargetRefused
    return replace(target, is_listed=False)


def _is_below(host: str, service: str) -> bool:
    return host.endswith(service) if service.startswith(".") else host == service


def topics_of(given: GivenSubscription) -> list[str]:
    """The topics of a subscription. Raises `SubscriptionRefused` for another secret than it was stored with."""
    known = _known(given)
    return [] if known is None else _topics(known)


@retried
def subscribe(given: GivenSubscription, topics: Collection[str]) -> list[str]:
    """Have a browser hear of these topics and no others; without any, the subscription is deleted at once.

    Raises `SubscriptionRefused`. Topics that do not exist are left out.
    """
    known = _known(given)
    ids = {int(topic) for topic in topics if topic.isascii() and topic.isdecimal() and len(topic) < 19}
    channels = list(Channel.objects.enabled().filter(pk__in=ids)[:MOST_PUSH_TOPICS]) if ids else []
    if not (BREAKING in topics or channels):
        if known is not None:
            known.delete()
        return []
    known = known or _stored(given)
    known.breaking = BREAKING in topics
    known.save()
    known.channels.set(channels)
    return _topics(known)


def _stored(given: GivenSubscription) -> PushSubscription:
    row: PushSubscription | None = _new(given)
    try:
        with savepoint():
            row.save()  # type: ignore[union-attr]
    except IntegrityError:  # a second click has just stored it
        row = _known(given)
    if row is None:
        raise SubscriptionRefused
    return row


def _new(given: GivenSubscription) -> PushSubscription:
    try:
        if len(given.endpoint) > PUSH_ADDRESS_LENGTH:
            raise SubscriptionRefused
        host = _service(target_of(given.endpoint))
        check_keys(given.p256dh, given.auth)
    except (TargetRefused, WrongKey) as error:
        raise SubscriptionRefused from error
    digest = _digest(given)
    return PushSubscription(endpoint=given.endpoint, digest=digest, host=host, p256dh=given.p256dh, auth=given.auth)


def _service(target: Target) -> str:
    """What stands for its service: another scheme is another one, to which its other readers' pushes must not go."""
    return target.host_header if target.scheme == "https" else f"{target.scheme}://{target.host_header}"


def _digest(given: GivenSubscription) -> str:
    return hashlib.sha256(given.endpoint.encode()).hexdigest()


def _known(given: GivenSubscription) -> PushSubscription | None:
    known = PushSubscription.objects.filter(digest=_digest(given)).first()
    if known is not None and not hmac.compare_digest(known.auth.encode(), given.auth.encode()):
        raise SubscriptionRefused
    return known


def _topics(known: PushSubscription) -> list[str]:
    channels = known.channels.order_by("pk").values_list("pk", flat=True)
    return [*([BREAKING] if known.breaking else []), *map(str, channels)]


def reach(channel_id: int | None) -> int:
    """How many browsers hear of an alert about an article of this channel."""
    return PushSubscription.objects.of_topics(channel_id).count()
