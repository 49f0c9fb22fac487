"""Domain events of articles. `articles.subscribers` lists the subscribers of each.

Subscribers run inside the transaction that emits the event, so their writes commit or roll back with it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from articles.models import AuditEntry


@dataclass(frozen=True)
class ArticlesPublished:
    """These articles went live, or their live text changed."""

    article_ids: Collection[int]


@dataclass(frozen=True)
class ArticlesUnpublished:
    """These articles left the site; `at_set_time` when it was due, which caches know beforehand."""

    article_ids: Collection[int]
    at_set_time: bool = False


@dataclass(frozen=True)
class ArticlesVanishing:
    """These articles are about to be deleted or taken back, whether or not readers see them."""

    article_ids: Collection[int]


@dataclass(frozen=True)
class EntriesRecorded:
    """These entries were added to the audit log."""

    entries: Sequence[AuditEntry]


@dataclass(frozen=True)
class DueRecorded:
    """The audit log has entries of `action`, which was due, for these articles."""

    action: str
    article_ids: Collection[int]


Event = ArticlesPublished | ArticlesUnpublished | ArticlesVanishing | EntriesRecorded | DueRecorded
Subscriber = Callable[[Any], object]

_subscribers: dict[type[Event], Sequence[Subscriber]] = {}


def subscribe(subscribers: Mapping[type[Event], Sequence[Subscriber]]) -> None:
    """Replace the list of subscribers."""
    _subscribers.clear()
    _subscribers.update(subscribers)


def emit(event: Event) -> None:
    """Call the subscribers of `event` in order. An error in one of them rolls the transaction back."""
    for subscriber in _subscribers.get(type(event), ()):
        subscriber(event)
