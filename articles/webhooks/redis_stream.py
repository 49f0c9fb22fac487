"""A sink: events in a Redis stream, from which consumer groups read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import redis

if TYPE_CHECKING:
    from articles.webhooks.sinks import SinkMessage

_STREAM = "headline.events"
_KEPT = 100_000  # entries of the stream, about
_TIMEOUT = 5  # seconds


class RedisStream:
    """Adds an entry for each event, with the fields `id`, `type`, `object` and `body`."""

    def __init__(self, address: str) -> None:
        """`address` may name the stream: `redis://host:6379/0?stream=news`."""
        place = urlsplit(address)
        self.stream = parse_qs(place.query).get("stream", [_STREAM])[0]
        options = urlencode([(name, value) for name, value in parse_qsl(place.query) if name != "stream"])
        # Not by `urlunsplit`: a unix socket's address would lose two of its slashes.
        url = f"{place.scheme}://{place.netloc}{place.path}?{options}"
        self._client: Any = redis.Redis.from_url(url, socket_timeout=_TIMEOUT, socket_connect_timeout=_TIMEOUT)

    def take(self, batch: Sequence[SinkMessage]) -> None:
        """Add them in one transaction. Raises what redis-py raises."""
        with self._client.pipeline(transaction=True) as pipe:
            for one in batch:
                entry = {"id": one.id, "type": one.kind, "object": one.object_id, "body": one.body}
                pipe.xadd(self.stream, entry, maxlen=_KEPT, approximate=True)
            pipe.execute()
