"""CDN purges: right after the commit, a second later, and by a task if the process that made the change dies."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet
from django.test import Client

from articles import handlers, publishing
from articles.cache import cdn, front_tag, version_tag
from articles.fronts import purge as purge_front
from articles.models import Article
from articles.publishing.publish import BatchResult
from articles.task_types import PURGE
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import poll
from scheduling.workers.side_effects import run_side_effects
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_front, soon
from tests.harness import base_dir, eventually

pytestmark = pytest.mark.django_db(transaction=True)

VCL = (base_dir / "docs" / "varnish.vcl").read_text()
(ACCEPTED,) = re.findall(r'Surrogate-Key !~ "([^"]+)"', VCL)
"""What Varnish takes; it refuses other purges with 400."""


class Proxy(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.words: list[tuple[str, str, list[str]]] = []
        self.status = HTTPStatus.OK

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def heard(self) -> set[str]:
        """The tags purged since the last call; waits until there are any."""
        words = eventually(lambda: self.words)
        self.words = []
        return {tag for _method, _token, tags in words for tag in tags}


class ProxyHandler(BaseHTTPRequestHandler):
    server: Proxy

    def do_PURGE(self) -> None:  # noqa: N802 (http.server's name)
        tags = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["tags"]
        assert self.headers["Surrogate-Key"] == " ".join(tags)
        self.server.words.append((self.command, self.headers["X-Token"], tags))
        is_accepted = re.search(ACCEPTED, self.headers["Surrogate-Key"])
        self.send_response(self.server.status if is_accepted else HTTPStatus.BAD_REQUEST)
        self.end_headers()

    do_POST = do_PURGE  # noqa: N815

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def proxy(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setattr(cdn, "REPEAT_AFTER", 0.0)
    with Proxy() as server:
        settings.CDN_PURGE_URLS, settings.CDN_PURGE_HEADER = [server.url], {"X-Token": "secret"}
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        eventually(lambda: not cdn.is_sending())
        server.shutdown()
        thread.join()


def run_side_effects_now() -> None:
    TaskInfo.objects.filter(task_type=PURGE).update(execute_time=read_database_clock())
    run_side_effects([PURGE])


def test_proxies_are_purged_at_once_and_again_a_second_later(proxy: Proxy, settings: Any) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=-1), channel=make_channel("Town"))
    expected = {"site"} | {"news", f"article:{article.pk}", f"channel:{article.channel_id}"}
    eventually(lambda: {tag for word in proxy.words for tag in word[2]} == expected)
    assert {word[:2] for word in proxy.words} == {("PURGE", "secret")}
    task = TaskInfo.objects.get(task_type=PURGE, key=str(article.pk))
    assert task.execute_time > soon()
    proxy.words, settings.CDN_PURGE_METHOD = [], "POST"
    run_side_effects_now()
    assert proxy.words[-1][0] == "POST"
    assert proxy.heard() == expected


def test_a_bulk_action_sends_one_purge(proxy: Proxy) -> None:
    ids = [make_article(f"No. {n}", status=APPROVED, publish_at=soon(hours=-1)).pk for n in range(3)]
    run_side_effects_now()
    proxy.heard()
    with transaction.atomic():
        for pk in ids:
            Article.objects.filter(pk=pk).update(summary="New")
    shown = TaskInfo.objects.filter(task_type=PURGE).values_list("parameters__articles", flat=True)
    assert list(shown) == [[pk] for pk in ids]
    assert proxy.heard() == {"news", *(f"article:{pk}" for pk in ids)}


def test_recording_a_publication_by_the_clock_sends_no_purge(proxy: Proxy) -> None:
    ids = [make_article(f"No. {n}", status=APPROVED, publish_at=soon(seconds=-1)).pk for n in range(3)]
    run_side_effects_now()
    proxy.heard()
    assert set(run_publish(ids).done) == set(ids)
    QuerySet.update(Article.objects.all(), unpublish_at=soon(seconds=-0.5))
    assert set(run_unpublish(ids).done) == set(ids)
    assert not TaskInfo.objects.filter(task_type=PURGE).exists()
    eventually(lambda: not cdn.is_sending())
    assert not proxy.words


@transaction.atomic
def run_publish(ids: list[int]) -> BatchResult:
    return publishing.publish_due(ids)


@transaction.atomic
def run_unpublish(ids: list[int]) -> BatchResult:
    return publishing.unpublish_due(ids)


def test_a_large_bulk_action_purges_everything(proxy: Proxy) -> None:
    first = make_article().pk
    Article.objects.filter(pk__in=range(first, first + 2000)).update(summary="New")
    assert proxy.heard() == {"site"}


def test_a_failing_proxy_delays_no_request_and_is_purged_again(proxy: Proxy) -> None:
    proxy.status = HTTPStatus.SERVICE_UNAVAILABLE
    article = make_article(status=APPROVED, publish_at=soon(hours=-1))
    proxy.heard()
    run_side_effects_now()
    task = TaskInfo.objects.get(task_type=PURGE)
    assert (task.attempts, task.execute_time > soon()) == (1, True)
    assert "503" in TaskInfoLog.objects.get(task_id=task.task_id).error
    proxy.heard()
    proxy.status = HTTPStatus.OK
    run_side_effects_now()
    assert f"article:{article.pk}" in proxy.heard()
    assert not TaskInfo.objects.filter(task_type=PURGE).exists()


def test_a_purge_outlives_a_minute_in_which_no_worker_can_finish_it(proxy: Proxy) -> None:
    make_article(status=APPROVED, publish_at=soon(hours=-1))
    waiting = TaskInfo.objects.filter(task_type=PURGE)
    count = waiting.count()
    for _lease in range(20):  # of 3 s each
        waiting.filter(leased_until=None).update(execute_time=soon(seconds=-1))
        waiting.exclude(leased_until=None).update(leased_until=soon(seconds=-1))
        assert len(poll(PURGE, limit=10)) == count > 0


def test_a_process_that_dies_between_commit_and_purge_leaves_the_task(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.PAGE_CACHE_SECONDS = 60.0
    article = make_article(status=APPROVED, publish_at=soon(hours=-1))
    run_side_effects_now()
    assert article.title in Client().get("/").text
    with monkeypatch.context() as dead:
        dead.setattr("articles.cache.invalidate._purge", lambda: None)
        publishing.unpublish(article, by=make_editor())
    proxy.heard()
    assert article.title in Client().get("/").text
    run_side_effects_now()
    assert article.title not in Client().get("/").text
    assert f"article:{article.pk}" in proxy.heard()


def test_a_purge_whose_worker_dies_is_sent_again_within_seconds(proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*arguments: object, **options: object) -> None:
        raise SystemExit

    make_article(status=APPROVED, publish_at=soon(hours=-1))
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(handlers, "run_purge", die)
        run_side_effects_now()
    task = TaskInfo.objects.get(task_type=PURGE)
    assert task.leased_until is not None
    assert task.leased_until <= read_database_clock() + timedelta(seconds=3)


def test_a_rolled_back_change_sends_no_purge(proxy: Proxy) -> None:
    article = make_article()
    with pytest.raises(RuntimeError), transaction.atomic():
        article.status = APPROVED
        article.save()
        raise RuntimeError
    assert not TaskInfo.objects.filter(task_type=PURGE).exists()
    assert not proxy.words


def test_many_tags_are_sent_in_chunks(proxy: Proxy) -> None:
    cdn.run_purge([], [f"article:{n}" for n in range(100)])
    assert [len(tags) for _method, _token, tags in proxy.words] == [30, 30, 30, 10]


def test_without_a_proxy_no_purge_is_sent() -> None:
    make_article(status=APPROVED, publish_at=soon(hours=-1))
    assert not TaskInfo.objects.filter(task_type=PURGE).exists()


def test_fronts_are_purged_whatever_the_slug_of_their_channel(proxy: Proxy, caplog: pytest.LogCaptureFixture) -> None:
    channel = make_channel("时政", slug="时政")
    story = make_article(status=APPROVED, publish_at=soon(hours=-2))
    fronts = make_front(story, channel=channel), make_front(story, language="zh-hans")
    for version, address in zip(fronts, ("/channel/时政/", "/zh-hans/"), strict=True):
        shown = Client().get(address, headers={"Accept-Language": "en"}).headers["Surrogate-Key"].split()
        tag = front_tag(version.front.language, version.front.channel_id)
        assert {tag, version_tag(version.pk)} <= set(shown)
        purge_front(version.front)
        purged: set[str] = set()
        while tag not in purged:  # after what the article's own publication purges
            purged |= proxy.heard()
    eventually(lambda: not cdn.is_sending())
    assert "purge failed" not in caplog.text
