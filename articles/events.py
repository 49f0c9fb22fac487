"""Domain events: what happened to articles and releases. `articles.subscribers` lists who listens to which.

Subscribers run inside the transaction of what happened, so what they store commits or rolls back with it. What has to
reach other systems is stored as an at-least-once task (transactional outbox).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from articles.models import Article, AuditEntry


@dataclass(frozen=True)
class ArticlesPublished:
    """These articles went live, or their live text changed."""

    article_ids: Collection[int]


@dataclass(frozen=True)
class ArticlesUnpublished:
    """These articles left the site; `at_set_time` when the clock did it, which caches know beforehand."""

    article_ids: Collection[int]
    at_set_time: bool = False


@dataclass(frozen=True)
class EntriesRecorded:
    """These entries were added to the audit log."""

    entries: Sequence[AuditEntry]


@dataclass(frozen=True)
class DueRecorded:
    """The audit log says that the clock did `action` to these articles."""

    action: str
    articles: Mapping[int, Article]


Event = ArticlesPublished | ArticlesUnpublished | EntriesRecorded | DueRecorded
Subscriber = Callable[[Any], object]

_subscribers: dict[type[Event], Sequence[Subscriber]] = {}


def subscribe(subscribers: Mapping[type[Event], Sequence[Subscriber]]) -> None:
    """Replace the list of subscribers."""
    _subscribers.clear()
    _subscribers.update(subscribers)


def emit(event: Event) -> None:
    """Hand `event` to its subscribers, in their order. An error of one of them rolls the transaction back."""
    for subscriber in _subscribers.get(type(event), ()):
        subscriber(event)
