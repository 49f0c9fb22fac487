"""WebSub: a hub (a real web server) is pinged about every changed feed after the commit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import feedparser
import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from articles import publishing, releases
from articles.models import Article, Tag
from articles.task_types import PING
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.workers.side_effects import run_side_effects
from tests.articles.factories import (
    APPROVED,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_release,
    soon,
)

pytestmark = pytest.mark.django_db(transaction=True)

SITE = "http://127.0.0.1:8000"


class Hub(ThreadingHTTPServer):
    """Stores pings; responds with `status`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.pings: list[dict[str, list[str]]] = []
        self.status = HTTPStatus.NO_CONTENT

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class HubHandler(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:  # noqa: N802 (http.server's name)
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.pings.append(parse_qs(body))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def hub(settings: Any) -> Iterator[Hub]:
    with Hub() as server:
        settings.WEBSUB_HUB = server.url
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def heard(hub: Hub) -> list[str]:
    """The feeds of the pings since the last call."""
    run_side_effects([PING])
    pings, hub.pings = hub.pings, []
    assert all(ping["hub.mode"] == ["publish"] for ping in pings)
    return [topic for ping in pings for topic in ping["hub.url"]]


def test_the_hub_is_pinged_on_publication_update_unpublishing_and_republishing(hub: Hub) -> None:
    """R5.5"""
    alice, article = make_editor(), make_article(status=APPROVED, publish_at=soon(hours=1))
    site = [f"{SITE}/feed/", f"{SITE}/feed/atom/", f"{SITE}/feed/json/"]
    assert heard(hub) == []
    publishing.publish_now(article, by=alice)
    assert heard(hub) == site
    publishing.edit(article, by=alice, changes={"title": "Newer"})
    publishing.submit(article, by=alice)
    approve(article)
    assert heard(hub) == []
    publishing.publish_update(article, by=alice)
    assert heard(hub) == site
    publishing.unpublish(article, by=alice)
    assert heard(hub) == site
    publishing.republish(article, by=alice)
    assert heard(hub) == site
    Article.objects.update(unpublish_at=soon(seconds=-1))
    with transaction.atomic():
        publishing.unpublish_due([article.pk])
    assert heard(hub) == site


def test_the_hub_hears_of_a_deletion(hub: Hub) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=-1), channel=make_channel("Town"))
    make_article("A draft").delete()
    article.delete()
    topics = heard(hub)
    assert len(topics) == 6 and f"{SITE}/channel/town/feed/" in topics


def test_the_hub_hears_that_a_release_was_rolled_back(hub: Hub) -> None:
    alice = make_editor()
    article = make_article(status=APPROVED, channel=make_channel("Town"))
    release = make_release(article, by=alice)
    releases.publish_release_now(release, by=alice)
    pinged = heard(hub)
    assert len(pinged) == 6 and f"{SITE}/channel/town/feed/" in pinged
    releases.roll_back_release(release, by=alice)
    assert heard(hub) == pinged


def test_a_group_that_goes_live_is_one_ping_for_all_its_feeds(hub: Hub) -> None:
    ada = User.objects.create_user("ada", first_name="Ada")
    town, sport = make_channel("Town"), make_channel("体育")
    articles = [
        make_article(f"No. {n}", status=APPROVED, publish_at=soon(seconds=-1), channel=c)
        for n, c in enumerate((town, sport))
    ]
    articles[0].tags.add(Tag.objects.create(name="Rain"))
    Article.objects.filter(pk=articles[1].pk).update(author=ada)
    with transaction.atomic():
        publishing.publish_due([article.pk for article in articles])
    topics = heard(hub)
    assert len(topics) == len(set(topics)) == 15
    for path in (
        "/feed/",
        "/channel/town/feed/json/",
        "/channel/%E4%BD%93%E8%82%B2/feed/atom/",
        "/tag/rain/feed/",
        f"/author/{ada.pk}/feed/",
    ):
        assert f"{SITE}{path}" in topics


def test_the_topics_are_the_addresses_that_the_feeds_call_their_own(hub: Hub) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1), channel=make_channel("体育"))
    publishing.publish_now(article, by=make_editor())
    for topic in heard(hub):
        response = Client().get(topic.removeprefix(SITE))
        if topic.endswith("json/"):
            feed = response.json()
            assert (feed["feed_url"], feed["hubs"]) == (topic, [{"type": "WebSub", "url": hub.url}])
        else:
            links = {link.rel: link.href for link in feedparser.parse(response.content).feed.links}
            assert (links["self"], links["hub"]) == (topic, hub.url)


def test_the_hub_hears_nothing_of_what_readers_never_saw(hub: Hub) -> None:
    alice, article = make_editor(), make_article(status=APPROVED, publish_at=soon(hours=1))
    article.tags.add(Tag.objects.create(name="Secret"))
    publishing.retract(article, by=alice, notice="Never mind.")
    assert heard(hub) == []


def test_the_hub_is_not_pinged_about_changes_to_an_article_that_was_unpublished(hub: Hub) -> None:
    """Otherwise subscribers would learn that the newsroom is editing it."""
    alice, article = make_editor(), make_article(status=APPROVED, publish_at=soon(hours=-1))
    publishing.unpublish(article, by=alice)
    assert heard(hub)
    publishing.edit(article, by=alice, changes={"title": "Newer"})
    publishing.schedule_update(article, publish_at=soon(hours=1), by=alice)
    publishing.submit(article, by=alice)
    approve(article)
    publishing.publish_update(article, by=alice)
    assert Article.objects.get().title == "Newer"
    publishing.retract(article, by=alice, notice="Never mind.")
    assert heard(hub) == []
    article.delete()
    assert heard(hub) == []


def test_the_hub_is_not_pinged_about_what_is_rolled_back(hub: Hub) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    with pytest.raises(RuntimeError), transaction.atomic():
        publishing.publish_now(article, by=make_editor())
        raise RuntimeError
    assert heard(hub) == []


def test_a_hub_that_fails_is_pinged_again_later(hub: Hub) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    hub.status = HTTPStatus.SERVICE_UNAVAILABLE
    publishing.publish_now(article, by=make_editor())
    assert len(heard(hub)) == 3
    task = TaskInfo.objects.get(task_type=PING)
    assert (task.attempts, task.execute_time > soon()) == (1, True)
    assert "503" in TaskInfoLog.objects.get(task_id=task.task_id).error


def test_without_a_hub_nothing_is_pinged(settings: Any) -> None:
    settings.WEBSUB_HUB = ""
    publishing.publish_now(make_article(status=APPROVED, publish_at=soon(hours=1)), by=make_editor())
    assert not TaskInfo.objects.filter(task_type=PING).exists()
    assert "hub" not in Client().get("/feed/json/").json()
