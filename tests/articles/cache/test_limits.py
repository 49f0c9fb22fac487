"""Limits of the response cache: bounded entries, canonical URLs, full or unreachable Redis, failed invalidations."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Collection, Iterator
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from django.conf import settings as django_settings
from django.core.cache import caches
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client import REGISTRY

from articles import publishing, releases
from articles.cache import backend, cdn, response, schedule_purge, store, versions, views
from articles.models import Article, Channel
from articles.site.pagination import SIZE
from articles.task_types import PURGE
from headline.caches import caches as configured
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo
from scheduling.workers.side_effects import run_side_effects
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_release, soon
from tests.chaos.proxy import Proxy
from tests.harness import Server, eventually, free_port, start_redis

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


@pytest.fixture(autouse=True)
def _cached_for_a_minute(settings: Any) -> None:
    """As with Redis, whichever cache the tests run on."""
    settings.PAGE_CACHE_SECONDS = 60.0


def live(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    channel = values.pop("channel", None) or Channel.objects.get_or_create(name="Politics")[0]
    return make_article(title, status=Status.PUBLISHED, publish_at=soon(hours=-1), channel=channel, **values)


def get(address: str, **headers: str) -> Any:
    return Client().get(address, headers=headers)


def cost(address: str, **headers: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert get(address, **headers).status_code == HTTPStatus.OK
    return len(queries)


def entries() -> set[str]:
    """All keys of the response cache except locks, which are short-lived."""
    cache: Any = caches["responses"]
    if hasattr(cache, "_cache"):
        cache._max_entries = 100_000
        found = set(cache._cache)
    else:
        found = {str(key) for key in cache.client.get_client().scan_iter("*")}
    return {key for key in found if ":lock:" not in key}


@pytest.fixture
def own_redis(tmp_path: Path, settings: Any) -> Iterator[Server]:
    """A Redis for the cache that the test may fill or stop."""
    server = start_redis(tmp_path / "cache", "--maxmemory-policy", "noeviction")
    settings.REDIS_CACHE_URL = f"{server.url}/1"
    settings.CACHES = {**settings.CACHES, "responses": _cache_at(settings.REDIS_CACHE_URL)}
    yield server
    caches["responses"].close()
    server.kill()


def _cache_at(url: str) -> dict[str, Any]:
    options = {
        "SOCKET_CONNECT_TIMEOUT": 2,
        "SOCKET_TIMEOUT": 5,
        "SERIALIZER": "django_redis.serializers.msgpack.MSGPackSerializer",
    }
    return {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url, "OPTIONS": options}


def fill(server: Server) -> None:
    """Fill the server beyond its limit, so that it refuses writes."""
    with redis.Redis.from_url(f"{server.url}/0") as client:
        client.set("filler", b"x" * 4_000_000)
        client.config_set("maxmemory", 2_000_000)


def generation(server: Server) -> bytes:
    """What every purge changes, read directly."""
    with redis.Redis.from_url(f"{server.url}/0") as client:
        (key,) = client.keys(f"*{versions.GENERATION}")
        return bytes(client.get(key))


def failures(name: str) -> float:
    return REGISTRY.get_sample_value("headline_cache_errors_total", {"command": name}) or 0.0


def test_spellings_of_a_url_share_one_entry() -> None:
    article = live()
    for number in range(12):
        live(f"No. {number}")
    page, api = article.get_absolute_url(), "/api/v1/articles/"
    asked = ["/", page, "/channel/politics/", "/feed/", api, f"{api}{article.pk}/", "/sitemap-0.xml"]
    for address in [*asked, "/?page_size=50", f"{api}?page_size=50"]:
        assert get(address).status_code == HTTPStatus.OK
    before = entries()
    for address in asked:
        for host in ("testserver:81", "localhost:8001", "a.localhost", "b.localhost:1", "127.0.0.1:9"):
            get(address, host=host)
        get(f"{address}?utm_source=x&%00=1")
    zeros = [page.replace(f"/{article.pk}/", f"/{'0' * n}{article.pk}/") for n in range(1, 5)]
    zeros += [f"{api}{'0' * n}{article.pk}/" for n in range(1, 5)] + ["/sitemap-00.xml", "/sitemap-000.xml"]
    for address in [
        *zeros,
        "/channel/POLITICS/",
        "/channel/Politics/feed/",
        f"{page.upper()}",
        f"{page}x/",
        f"{page}%20/",
    ]:
        get(address)
    for size in ("51", "052", "00000000000050", "999999999999999999"):
        assert cost(f"/?page_size={size}") == 0
        assert cost(f"{api}?page_size={size}") == 0
    assert entries() == before


@pytest.mark.cases(1)
@pytest.mark.parametrize("host", ["testserver", "localhost:8001", "x.localhost"])
def test_a_response_is_the_same_on_every_host(host: str) -> None:
    """Otherwise the first request would decide the host of the links for all others."""
    for number in range(SIZE + 12):
        article = live(f"No. {number}")
    for address in ("/", "/feed/", "/api/v1/articles/", article.get_absolute_url(), "/sitemap.xml"):
        found = get(address, host=host)
        caches["responses"].clear()
        assert host not in found.text
        assert found.content == get(address).content
    assert get("/api/v1/articles/", host=host).json()["next"].startswith(django_settings.SITE_URL)


def test_other_spellings_redirect_to_the_canonical_url() -> None:
    article = live()
    page = article.get_absolute_url()
    for spelled, canonical in [
        (page.replace(f"/{article.pk}/", f"/00{article.pk}/"), page),
        (f"/article/0{article.pk}/", f"/article/{article.pk}/"),
        (f"/article/{article.pk}/", page),
        (page.replace("bridge", "Bridge"), page),
        (f"/api/v1/articles/0{article.pk}/", f"/api/v1/articles/{article.pk}/"),
        ("/sitemap-00.xml", "/sitemap-0.xml"),
    ]:
        response = get(
            spelled if "/api/" in spelled else f"{spelled}?utm_source=x"
        )  # the API refuses what it does not know
        assert (response.status_code, response["Location"]) == (HTTPStatus.MOVED_PERMANENTLY, canonical), spelled
        assert response["Cache-Control"] == "private, no-store"
    if connection.vendor == "mysql":  # SQLite knows nothing by this name
        for spelled, canonical in [
            ("/channel/POLITICS/?before=x", "/channel/politics/?before=x"),
            ("/channel/Politics/feed/atom/", "/channel/politics/feed/atom/"),
        ]:
            assert get(spelled)["Location"] == canonical


def test_the_number_of_entries_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MAX_PATHS", 3)
    articles = [live(f"No. {number}") for number in range(12)]
    get("/")
    before = len(entries())
    for article in articles:
        assert article.title in get(article.get_absolute_url()).text
        assert article.title in get(f"/api/v1/articles/{article.pk}/").text
    kinds, helpers = 2, 2
    tokens = len(articles)  # the versions of tags, of which each exists
    assert len(entries()) - before <= 3 * kinds * helpers + tokens + 1


def test_the_pages_of_a_list_share_a_number_of_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        live(f"No. {number}")
    monkeypatch.setattr(
        views, "salted_hmac", lambda *args, **options: type("", (), {"hexdigest": lambda self: "0" * 64})()
    )
    get("/")
    before = len(entries())
    for size in range(1, 12):
        link = get(f"/?page_size={size}")
        assert link.status_code == HTTPStatus.OK
    assert len(entries()) - before <= 2


def test_nothing_in_the_cache_outlives_a_day(own_redis: Server) -> None:
    get(live().get_absolute_url())
    with redis.Redis.from_url(django_settings.REDIS_CACHE_URL) as client:
        lifetimes = [client.ttl(key) for key in client.scan_iter("*")]
    assert lifetimes and all(0 < seconds <= 24 * 3600 for seconds in lifetimes)


def test_redis_contains_only_data_and_no_code(own_redis: Server, tmp_path: Path) -> None:
    article = live()
    page = article.get_absolute_url()
    get(page)
    trap = tmp_path / "trap"
    evil = pickle.dumps(_Evil(str(trap)))
    with redis.Redis.from_url(django_settings.REDIS_CACHE_URL) as client:
        for key in client.scan_iter("*"):
            assert not (client.get(key) or b"").startswith(b"\x80"), "pickled"
            client.set(key, evil)
    assert article.title in get(page).text
    assert not trap.exists()


class _Evil:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (self.path,)


@pytest.mark.cases(1)
@pytest.mark.parametrize("transition", ["unpublish", "retract", "edit", "delete"])
def test_a_full_cache_serves_no_removed_article(own_redis: Server, transition: str) -> None:
    alice, article = make_editor(), live(published_at=soon(hours=-1))
    page, title = article.get_absolute_url(), article.title
    for address in (page, "/", "/feed/"):
        assert title in get(address).text
    assert cost("/") == 0
    fill(own_redis)
    refused = failures("purge")
    if transition == "unpublish":
        publishing.unpublish(article, by=alice)
    elif transition == "retract":
        publishing.retract(article, by=alice, notice="It was all wrong.")
    elif transition == "delete":
        article.delete()
    else:
        article.title = "Something else"
        article.save()
    for address in (page, "/", "/feed/"):
        assert title not in get(address).text
    assert failures("purge") > refused


def test_a_full_cache_costs_time_but_breaks_no_page(own_redis: Server) -> None:
    article = live()
    fill(own_redis)
    for _time in range(2):
        assert article.title in get(article.get_absolute_url()).text
    assert failures("add") + failures("set") > 0


def test_the_health_check_reports_a_full_server(own_redis: Server, settings: Any) -> None:
    settings.SCHEDULING_REDIS_URL = own_redis.url
    report = get("/readyz").json()
    assert (report["redis"], report["cache"]) == ("ok", "ok")
    fill(own_redis)
    report = get("/readyz").json()
    assert (report["redis"], report["cache"], report["status"]) == ("full", "full", "degraded")
    assert {"redis_full", "cache_full"} <= set(report["problems"])
    own_redis.kill()
    report = get("/readyz").json()
    assert (report["redis"], report["cache"]) == ("unreachable", "unreachable")


def test_a_failed_purge_is_repeated_before_the_cache_is_used_again(
    own_redis: Server, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache was unreachable for this process only, and still has its entries."""
    article = live()
    page = article.get_absolute_url()
    assert article.title in get(page).text
    there, elsewhere = settings.CACHES, _cache_at(f"redis://127.0.0.1:{free_port()}/0")
    settings.CACHES = {**there, "responses": elsewhere}
    publishing.unpublish(article, by=make_editor())
    assert get(page).status_code == HTTPStatus.NOT_FOUND
    settings.CACHES = there
    backend.reachable._again_at = float("-inf")
    assert get(page).status_code == HTTPStatus.NOT_FOUND
    live("Another")
    assert cost("/") > 0
    assert cost("/") == 0


def test_purges_of_a_cache_that_is_away_are_logged_once(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    there = settings.CACHES
    settings.CACHES = {**there, "responses": _cache_at(f"redis://127.0.0.1:{free_port()}/0")}
    for _ in range(3):
        versions.invalidate({"article:1"})
        backend.reachable._again_at = float("-inf")
    settings.CACHES = there
    assert versions.invalidate({"article:1"})
    begun, over = caplog.messages
    assert begun.startswith("a purge of the response cache failed; not using it until one succeeds")
    assert "a purge of the response cache failed" in over and over.startswith("over after")


def test_a_task_purges_for_a_process_that_cannot_reach_the_cache(own_redis: Server, settings: Any) -> None:
    """Whatever the change; others would show what was before for as long as their entries last."""
    article = make_article("Comet landing", status=APPROVED)
    live()
    assert article.title not in get("/").text
    there, elsewhere = settings.CACHES, _cache_at(f"redis://127.0.0.1:{free_port()}/0")
    settings.CACHES = {**there, "responses": elsewhere}
    publishing.publish_now(article, by=make_editor())
    settings.CACHES = there
    backend.reachable._again_at = float("-inf")
    versions._failed._tags.clear()  # as if another process had made the change
    assert article.title not in get("/").text
    TaskInfo.objects.filter(task_type=PURGE).update(execute_time=read_database_clock())
    run_side_effects([PURGE])
    assert article.title in get("/").text


def test_a_slow_cache_is_left_alone_and_purged_by_a_task(
    own_redis: Server, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cached page would cost more than a new one, and each change would wait for several round trips."""
    monkeypatch.setattr(backend, "_RETRY", 600.0)
    monkeypatch.setattr(backend, "_LONGEST_PAUSE", 600.0)
    article = live()
    with Proxy(own_redis.port) as proxy:
        settings.CACHES = {**settings.CACHES, "responses": _cache_at(f"redis://127.0.0.1:{proxy.port}/0")}
        get("/")
        assert cost("/") == 0
        with proxy.delay(0.03):
            for _page in range(20):
                get("/")
            assert backend.reachable.is_slow and not backend.reachable
            sent = proxy.forwarded
            assert cost("/") > 0
            publishing.unpublish(article, by=make_editor())
            assert article.title not in get("/").text
            assert proxy.forwarded == sent, "neither pages nor changes wait for it"
            TaskInfo.objects.filter(task_type=PURGE).update(execute_time=read_database_clock())
            before = generation(own_redis)
            run_side_effects([PURGE])
            assert generation(own_redis) != before, "others may find it quick"

        def is_quick() -> bool:  # of the first round trip, a busy machine can make another slow one
            backend.reachable._again_at = float("-inf")
            get("/")
            return not backend.reachable.is_slow

        eventually(is_quick)
        assert cost("/") == 0


def test_the_pauses_of_a_cache_that_is_away_grow_until_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = [0.0]
    monkeypatch.setattr("articles.cache.backend.time.monotonic", lambda: moment[0])
    reachable, tried_at = backend.Reachable(), []
    while moment[0] < 20_000:  # more than a thousand pauses
        if reachable:
            tried_at.append(moment[0])
            reachable.mark_unreachable()
        moment[0] += 0.5
    assert tried_at[:8] == [0, 1, 3, 7, 15, 23, 31, 39]
    assert tried_at[-1] - tried_at[-2] == 8
    moment[0] += 8
    reachable.took(0.001)
    reachable.mark_unreachable()
    moment[0] += 1
    assert reachable, "it begins again with a second"


@pytest.mark.parametrize(
    "transition", ["unpublish", "retract", "delete", "roll back", "set end", "set end, unrecorded"]
)
def test_a_process_that_dies_before_its_purge_leaves_a_task_that_purges(
    own_redis: Server, monkeypatch: pytest.MonkeyPatch, transition: str
) -> None:
    alice, article = make_editor(), live(published_at=soon(hours=-1))
    if transition == "roll back":
        article = make_article("Comet landing", status=APPROVED)
        release = make_release(article, by=alice)
        releases.publish_release_now(release, by=alice)
        run_side_effects([PURGE])
        TaskInfo.objects.filter(task_type=PURGE).delete()
    if transition == "set end, unrecorded":  # live by the clock, and no worker was there
        Article.objects.filter(pk=article.pk).update(status=APPROVED, published_at=None)
        article.refresh_from_db()
    assert article.title in get("/").text
    with monkeypatch.context() as dead:
        dead.setattr("articles.cache.invalidate._purge", lambda: None)
        if transition == "unpublish":
            publishing.unpublish(article, by=alice)
        elif transition == "retract":
            publishing.retract(article, by=alice, notice="It was all wrong.")
        elif transition == "roll back":
            releases.roll_back_release(release, by=alice)
        elif transition.startswith("set end"):
            article.unpublish_at = soon(milliseconds=1)
            article.save()
        else:
            article.delete()
    assert article.title in get("/").text
    TaskInfo.objects.filter(task_type=PURGE).update(execute_time=read_database_clock())
    run_side_effects([PURGE])
    assert article.title not in get("/").text
    assert not TaskInfo.objects.filter(task_type=PURGE).exists()


def test_the_task_is_repeated_each_second_while_the_cache_is_away(own_redis: Server) -> None:
    """It may come back at any time, with the responses from before the change."""
    article = live()
    publishing.unpublish(article, by=make_editor())
    own_redis.kill()
    begun = read_database_clock()
    TaskInfo.objects.filter(task_type=PURGE).update(execute_time=begun)
    run_side_effects([PURGE])
    task = TaskInfo.objects.get(task_type=PURGE)
    assert task.leased_until is not None and begun < task.leased_until - timedelta(seconds=1) <= read_database_clock()
    assert task.attempts == 0
    own_redis.start()
    TaskInfo.objects.filter(task_type=PURGE).update(leased_until=None)
    backend.reachable._again_at = float("-inf")
    run_side_effects([PURGE])
    assert not TaskInfo.objects.filter(task_type=PURGE).exists()


@pytest.mark.thorough
def test_many_tasks_do_not_wait_for_a_cache_that_is_away_nor_repeat_cdn_purges(
    own_redis: Server, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SCHEDULING_MAX_SLEEP = 600.0  # no postponed task is due again while others run
    sent: list[str] = []
    monkeypatch.setattr(backend, "_RETRY", 600.0)
    monkeypatch.setattr(backend, "_LONGEST_PAUSE", 600.0)
    monkeypatch.setattr(cdn, "_send_purges", lambda tags: sent.append(min(tags)))
    tags = [f"channel:{number}" for number in range(20)]
    for tag in tags:
        schedule_purge(tags=[tag])
    own_redis.kill()
    tried: list[Collection[str]] = []

    def invalidate(found: Collection[str], *, takes_time: bool) -> bool:
        tried.append(found)
        return versions.invalidate(found, takes_time=takes_time)

    monkeypatch.setattr(cdn, "invalidate", invalidate)
    for _ in range(2):
        TaskInfo.objects.filter(task_type=PURGE).update(execute_time=read_database_clock(), leased_until=None)
        run_side_effects([PURGE])
        assert len(tried) == 1
        assert sorted(sent) == sorted(tags)
    own_redis.start()
    backend.reachable._again_at = float("-inf")
    TaskInfo.objects.filter(task_type=PURGE).update(execute_time=read_database_clock(), leased_until=None)
    run_side_effects([PURGE])
    assert not TaskInfo.objects.filter(task_type=PURGE).exists()
    assert sorted(sent) == sorted([*tags, *tags]), "the cache may have filled the CDN before it was invalidated"


def test_a_second_change_of_an_article_is_purged_while_the_cache_is_away(
    own_redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It moves the task of the first."""
    sent: list[str] = []
    monkeypatch.setattr(cdn, "_send_purges", lambda tags: sent.append(min(tags)))
    article = live()
    own_redis.kill()
    for number in (1, 2):
        schedule_purge(articles=[article.pk])
        for _ in range(2):
            TaskInfo.objects.filter(task_type=PURGE).update(execute_time=read_database_clock(), leased_until=None)
            run_side_effects([PURGE])
        assert sent == [f"article:{article.pk}"] * number


@pytest.mark.usefixtures("own_redis")
def test_a_page_ends_although_the_clocks_of_its_host_and_redis_were_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    live()
    get("/")
    monkeypatch.setattr(store, "time", SimpleNamespace(time=lambda: time.time() - 3600, monotonic=time.monotonic))
    assert cost("/") > 0


@pytest.mark.usefixtures("own_redis")
def test_a_change_does_not_take_a_later_one_of_another_thread_for_older_contents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_while_another_thread_reads_later(key: str) -> Any:
        found = read(key)
        versions._latest.time += 2000
        return found

    versions.invalidate(["article:1"])
    read = backend.responses.get
    monkeypatch.setattr(caches["responses"], "get", read_while_another_thread_reads_later)
    assert versions.invalidate(["article:1"])
    assert read(versions.keys_of(["site"])[0]) is None


@pytest.mark.usefixtures("own_redis")
@pytest.mark.parametrize("ahead", [2, 30])
def test_a_host_that_is_behind_invalidates_no_more_than_its_changes(ahead: int) -> None:
    """Such as a worker, which only writes; web processes do not see an older cache in that."""
    web = versions._Latest()
    backend.responses.set(versions.GENERATION, f"{int((time.time() + ahead) * 1000)}-web", 60)
    known = web.time
    assert web.note(backend.responses.get(versions.GENERATION), known)
    versions._latest.time = 0
    assert versions.invalidate(["article:1"])
    assert web.note(backend.responses.get(versions.GENERATION), web.time)
    assert backend.responses.get(versions.keys_of(["site"])[0]) is None


@pytest.mark.usefixtures("own_redis")
def test_a_clock_that_was_far_ahead_and_was_set_right_disturbs_nothing() -> None:
    live()
    get("/")
    versions._latest.time = int((time.time() + 3600) * 1000)
    assert cost("/") == 0


@pytest.mark.usefixtures("own_redis")
def test_a_change_does_not_hide_that_the_cache_has_older_contents() -> None:
    article = live()
    get("/")
    with connection.cursor() as cursor:  # as if what the purge wrote was lost
        cursor.execute("UPDATE articles_article SET status = %s WHERE id = %s", [Status.UNPUBLISHED, article.pk])
    assert article.title in get("/").text
    versions._latest.time = int((time.time() + 10) * 1000)
    assert versions.invalidate(["article:99999"])
    assert article.title not in get("/").text


def test_a_purge_without_a_database_invalidates_the_whole_site(
    own_redis: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection may end after the commit, and the lists that show the article are not known then."""
    article = live()
    assert article.title in get("/").text

    def ended(ids: object) -> set[str]:
        raise OperationalError

    monkeypatch.setattr("articles.cache.invalidate.tags_of", ended)
    publishing.unpublish(article, by=make_editor())
    assert article.title not in get("/").text


def test_restored_contents_give_no_wrong_304(own_redis: Server, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent before a change that the contents do not have is not the same again."""
    settings.CACHES = configured(settings.REDIS_CACHE_URL)
    record, seconds_ago = response._record_first_sent, 100

    def earlier(key: str, fingerprint: str, etag: str, second: int) -> int:
        return record(key, fingerprint, etag, second - seconds_ago)

    monkeypatch.setattr(response, "_record_first_sent", earlier)
    alice, first, second = make_editor(), live(), make_article("Second", status=APPROVED)
    assert first.title in get("/feed/").text
    with redis.Redis.from_url(own_redis.url) as client:
        client.save()
    seconds_ago = 50
    publishing.publish_now(second, by=alice)
    newer = get("/feed/")
    assert second.title in newer.text
    seconds_ago = 0
    publishing.retract(second, by=alice, notice="Wrong.")
    own_redis.kill()
    own_redis.start()
    backend.reachable._again_at = float("-inf")
    for _ in range(2):
        assert get("/feed/", **{"If-Modified-Since": newer.headers["Last-Modified"]}).status_code == HTTPStatus.OK


def test_eviction_brings_no_removed_article_back(own_redis: Server) -> None:
    """Whichever key is evicted: a version, the generation, or both."""
    alice, channel = make_editor(), make_channel("Sport")
    for forgotten in ("tag:", "guard", ""):
        article = live(f"Cup final {forgotten}", channel=channel)
        page = article.get_absolute_url()
        assert article.title in get(page).text
        publishing.unpublish(article, by=alice)
        with redis.Redis.from_url(django_settings.REDIS_CACHE_URL) as client:
            for key in client.scan_iter("*"):
                if f":pages:{forgotten}".encode() in key and b":pages:3:" not in key:
                    client.delete(key)
        assert get(page).status_code == HTTPStatus.NOT_FOUND, forgotten
