"""The contract of sinks: each event at least once, with its id as key, in order for each object."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import redis

from articles import publishing
from articles.models import Event, EventSink, PendingChange
from articles.webhooks import sinks
from articles.webhooks.redis_stream import RedisStream
from articles.webhooks.sinks import Sink, SinkMessage
from tests.articles.factories import APPROVED, make_article, make_editor, soon
from tests.articles.webhooks.receivers import drain
from tests.articles.webhooks.test_dispatch import published
from tests.harness import base_dir

pytestmark = pytest.mark.django_db(transaction=True)

Read = Callable[[], list[tuple[str, str]]]
"""The ids and bodies that a sink has."""


class InMemory:
    """A sink that may fail."""

    def __init__(self) -> None:
        self.taken: list[SinkMessage] = []
        self.failures = 0

    def take(self, batch: Sequence[SinkMessage]) -> None:
        if self.failures:
            self.failures -= 1
            self.taken += batch[:1]  # the first was stored
            raise ConnectionError
        self.taken += batch


def documented(path: Path) -> Any:
    """The sink of docs/following.md."""
    page = (base_dir / "docs" / "following.md").read_text(encoding="utf-8")
    (code,) = (block for block in re.findall(r"```python\n(.+?)```", page, re.DOTALL) if "def take" in block)
    names: dict[str, Any] = {}
    exec(code.replace("/var/log/headline/events.jsonl", str(path)), names)  # noqa: S102 (our own page)
    return names["JsonLines"]()


@pytest.fixture(params=["redis", "documented"])
def sink(
    request: pytest.FixtureRequest, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Read]:
    sinks.sink_of.cache_clear()
    if request.param == "redis":
        client: redis.Redis | None = request.getfixturevalue("queue_redis")
        if client is None:
            pytest.skip("without Redis")
        place = client.connection_pool.connection_kwargs
        settings.EVENTS_SINK = f"redis://{place['host']}:{place['port']}/{place.get('db', 0)}?stream=test"
        decode: Any = client.xrange
        yield lambda: [(fields[b"id"].decode(), fields[b"body"].decode()) for _key, fields in decode("test")]
    else:
        path = tmp_path / "events.jsonl"
        made = documented(path)
        settings.EVENTS_SINK = "documented"
        monkeypatch.setattr(sinks, "sink_of", lambda _named: made)
        lines: Callable[[], list[Any]] = lambda: [json.loads(one) for one in path.read_text().splitlines()]  # noqa: E731
        yield lambda: [(one["id"], json.dumps(one["event"])) for one in lines()]


def test_a_sink_gets_each_event_with_its_id_in_order_and_nothing_of_the_past(sink: Read) -> None:
    alice = make_editor()
    published("Before")
    drain()
    article = make_article("Bridge", status=APPROVED)
    make_article("Later", status=APPROVED, publish_at=soon(hours=1))
    publishing.publish_now(article, by=alice)
    publishing.unpublish(article, by=alice)
    publishing.republish(article, by=alice)
    drain()
    found = sink()
    public = Event.objects.filter(object_id=article.pk).exclude(kind=Event.Kind.SCHEDULED).order_by("seq")
    assert [one for one, _body in found] == [f"evt_{event.seq}" for event in public]
    assert json.loads(found[0][1])["data"]["article"]["title"] == "Bridge"
    assert "Later" not in str(found)
    drain()
    assert len(sink()) == 3


@pytest.fixture
def memory(settings: Any, monkeypatch: pytest.MonkeyPatch) -> InMemory:
    made: Any = InMemory()
    settings.EVENTS_SINK = "memory"
    monkeypatch.setattr(sinks, "sink_of", lambda _named: made)
    monkeypatch.setattr(sinks, "_PAUSE", 0)
    drain()
    return made  # type: ignore[no-any-return]


def test_what_a_sink_did_not_store_is_given_again(memory: InMemory) -> None:
    for number in range(3):
        published(f"No. {number}")
    memory.failures = 2
    for _attempt in range(3):
        drain()
    ids = [one.id for one in memory.taken]
    assert ids == [ids[0]] * 2 + sorted(set(ids))
    assert len(set(ids)) == 3


def test_a_sink_hears_the_truth_of_the_moment(memory: InMemory) -> None:
    alice, article = make_editor(), make_article("Bridge", status=APPROVED)
    publishing.publish_now(article, by=alice)
    publishing.retract(article, by=alice, notice="Invented.")
    drain()
    assert {one.kind for one in memory.taken} == {Event.Kind.RETRACTED}
    assert not PendingChange.objects.exists()


def test_a_sink_whose_process_died_is_filled_by_another(memory: InMemory) -> None:
    published()
    EventSink.objects.update(leased_until=soon(seconds=30), lease_token="of the dead")
    drain()
    assert memory.taken == []
    EventSink.objects.update(leased_until=soon(seconds=-1))
    drain()
    assert len(memory.taken) == 1


def test_a_sink_is_named_by_its_class_or_a_redis_address() -> None:
    sinks.sink_of.cache_clear()
    found: Sink | None = sinks.sink_of("tests.articles.webhooks.test_sinks.InMemory")
    assert isinstance(found, InMemory)
    assert sinks.sink_of("") is None


@pytest.mark.parametrize(
    ("address", "name", "value"),
    [
        ("unix:///run/redis.sock?db=2&stream=news", "path", "/run/redis.sock"),
        ("unix:///run/redis.sock?db=2&stream=news", "db", 2),
        ("rediss://host:6380/1?ssl_ca_certs=/ca.pem&stream=news", "ssl_ca_certs", "/ca.pem"),
        ("redis://host:6380/1?stream=news", "port", 6380),
    ],
)
def test_the_address_of_a_stream_may_have_options(address: str, name: str, value: object) -> None:
    sink = RedisStream(address)
    assert sink.stream == "news"
    assert sink._client.connection_pool.connection_kwargs[name] == value
