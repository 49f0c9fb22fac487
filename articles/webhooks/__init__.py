"""Webhooks: events sent to other systems over HTTP, at least once, signed, with the truth of the moment."""

from articles.webhooks.dispatch import send_events as send_events, wake as wake
from articles.webhooks.failures import mail_owner as mail_owner
from articles.webhooks.manage import (
    MANAGE as MANAGE,
    SEND_SCHEDULES as SEND_SCHEDULES,
    EndpointHealth as EndpointHealth,
    delete_endpoint as delete_endpoint,
    health_of as health_of,
    pause_without as pause_without,
    replay as replay,
    replay_since as replay_since,
    rotate_secret as rotate_secret,
    save_endpoint as save_endpoint,
    send_test as send_test,
    set_enabled as set_enabled,
    with_health as with_health,
)
from articles.webhooks.retention import count_lost as count_lost, prune_events as prune_events
from articles.webhooks.send import PinnedConnection as PinnedConnection, Reply as Reply
from articles.webhooks.signing import PREFIX as PREFIX, new_secret as new_secret
from articles.webhooks.target import (
    Target as Target,
    TargetRefused as TargetRefused,
    check as check,
    parse as parse,
)
