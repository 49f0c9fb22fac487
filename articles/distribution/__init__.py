"""Notifying other systems of changes: WebSub pings, and the change feed for API clients."""

from articles.distribution.change_feed import (
    FeedPage,
    catch_up_completely,
    checkpoint_number,
    follow,
    note_renamed,
)
from articles.distribution.websub import ping, ping_of_vanishing, ping_soon, topics

__all__ = [
    "FeedPage",
    "follow",
    "catch_up_completely",
    "checkpoint_number",
    "note_renamed",
    "ping",
    "ping_of_vanishing",
    "ping_soon",
    "topics",
]
