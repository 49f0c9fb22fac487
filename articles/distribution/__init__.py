"""Notifying other systems of changes: WebSub pings, the sequencer of events, the change feed for API clients."""

from articles.distribution.change_feed import (
    FeedPage as FeedPage,
    checkpoint_number as checkpoint_number,
    follow as follow,
)
from articles.distribution.sequencer import (
    LEADS_TO as LEADS_TO,
    catch_up as catch_up,
    catch_up_completely as catch_up_completely,
    note_renamed as note_renamed,
)
from articles.distribution.websub import (
    ping as ping,
    ping_of_vanishing as ping_of_vanishing,
    ping_soon as ping_soon,
    topics as topics,
)
