"""Tells other systems what changed: WebSub hubs, and the change feed that API clients follow."""

from articles.distribution.change_feed import FeedPage, follow, keep_up, note_renamed
from articles.distribution.websub import ping, ping_of_vanishing, ping_soon, topics

__all__ = [
    "FeedPage",
    "follow",
    "keep_up",
    "note_renamed",
    "ping",
    "ping_of_vanishing",
    "ping_soon",
    "topics",
]
