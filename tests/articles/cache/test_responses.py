"""The response cache: responses are built once, expire on time and are invalidated by changes."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import User
from django.core.cache import caches
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from articles import images, publishing
from articles.cache import backend, store, versions
from articles.cache.next_change import changes_beside, next_change
from articles.cache.response import CachedResponse
from articles.cache.tags import NEWS, tagged
from articles.cache.ttl import MAX_TTL
from articles.cache.versions import invalidate
from articles.cache.views import cached
from articles.models import Article, Card, Channel, FrontVersion, Release, Tag, Update
from articles.search import reconcile_index
from scheduling.database import database_clock_set
from scheduling.services import run_due
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_front, sitemap_of, soon
from tests.articles.image_files import make_image
from tests.articles.statements import reading
from tests.harness import PATIENCE, eventually, free_port

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status
PAGES = ["/", "/latest/", "/channel/politics/", "/tag/rain/"]
LISTS = [*PAGES, "/feed/", "/feed/atom/", "/feed/json/",
         "/channel/politics/feed/", "/tag/rain/feed/json/", "/sitemap.xml", "/news-sitemap.xml",
         "/api/v1/articles/", "/api/v1/articles/?channel=politics"]  # fmt: skip


@pytest.fixture(autouse=True)
def _cached_for_a_minute(settings: Any) -> None:
    """As with Redis, whichever cache the tests run on."""
    settings.PAGE_CACHE_SECONDS = 60.0


def live(title: str = "Harbour bridge reopens", **values: Any) -> Article:
    channel = values.pop("channel", None) or Channel.objects.get_or_create(name="Politics")[0]
    values = {"status": Status.PUBLISHED, "publish_at": soon(hours=-1), "channel": channel, **values}
    article = make_article(title, **values)
    article.tags.add(Tag.objects.get_or_create(name="Rain")[0])
    return article


def get(address: str, **headers: str) -> Any:
    return Client().get(address, headers=headers)


def cost(address: str, **headers: str) -> int:
    """The number of statements of a response."""
    with CaptureQueriesContext(connection) as queries:
        assert get(address, **headers).status_code in (200, 304)
    return len(reading(queries))


def addresses_of(article: Article) -> list[str]:
    return [*LISTS, sitemap_of(article), article.get_absolute_url(), f"/api/v1/articles/{article.pk}/"]


def test_every_page_costs_at_most_six_statements_and_none_the_second_time() -> None:
    article = live(author=User.objects.create_user("ada", first_name="Ada", last_name="Lin"))
    assert connection.features.supports_json_field  # a statement of SQLite, once
    for address in [
        *addresses_of(article),
        "/api/v1/channels/",
        "/sitemap-pages.xml",
        f"/author/{article.author_id}/feed/",
        "/search/",
        "/search/?q=bridge",
        "/search/?q=bridge&channel=politics&since=2026-01-01",
        "/api/v1/articles/?q=bridge",
    ]:
        # MariaDB's full-text index is not of the state of the database that the page is of, which is checked.
        checks = 2 * ("q=" in address and connection.vendor == "mysql")
        assert 1 <= cost(address) <= 6 + checks, address
        assert cost(address) == 0, address
        assert cost(address, if_none_match=get(address)["ETag"]) == 0


def test_unknown_parameters_create_no_entries_and_are_in_no_page() -> None:
    live()
    first = get("/")
    again = get("/?utm_source=x&fbclid=y&before2=3")
    assert cost("/?utm_source=z") == 0
    assert again.content == first.content and "utm_source" not in again.text


def test_every_change_by_a_user_is_visible_at_once_everywhere() -> None:
    """R5.5"""
    alice, article = make_editor(), live()
    other = make_channel("Sport")

    def seen(text: str) -> list[str]:
        return [address for address in addresses_of(article) if text in get(address).text]

    everywhere = [address for address in addresses_of(article) if address != "/sitemap.xml"]
    with_titles = [address for address in everywhere if address != sitemap_of(article)]
    assert seen("Harbour bridge") == with_titles
    assert seen("Politics") != []
    publishing.unpublish(article, by=alice)
    assert seen("Harbour bridge") == []
    publishing.republish(article, by=alice)
    assert seen("Harbour bridge") == with_titles
    article.title = "Bridge closed again"
    article.save()
    assert (seen("Harbour bridge reopens"), seen("Bridge closed again")) == ([], with_titles)
    Article.objects.filter(pk=article.pk).update(title="Bridge open for good", channel=other)
    assert "Bridge open" not in get("/channel/politics/").text
    assert "Bridge open" in get("/channel/sport/").text


@pytest.mark.parametrize("model", [Channel, Tag, User])
def test_a_renamed_object_is_visible_at_once(model: type[Any]) -> None:
    ada = User.objects.create_user("ada", first_name="Rain", last_name="Lin")
    article = live(author=ada)
    shown = {Channel: "Politics", Tag: "Rain", User: "Rain Lin"}[model]
    assert shown in get(article.get_absolute_url()).text
    for row in model.objects.all():
        if model is User:
            row.last_name = "Chen"
        else:
            row.name = "Weather"
        row.save()
    text = get(article.get_absolute_url()).text
    assert ("Chen" if model is User else "Weather") in text


def test_a_login_rebuilds_no_page() -> None:
    live()
    alice = make_editor()
    get("/")
    Client().force_login(alice)
    assert cost("/") == 0


def test_a_draft_rebuilds_no_page() -> None:
    live()
    get("/")
    draft = make_article("A draft")
    draft.title = "Another"
    draft.save()
    draft.tags.set(Tag.objects.all())
    draft.delete()
    assert cost("/") == 0


def test_unrelated_pages_are_not_rebuilt() -> None:
    article, other = live(), live("Cup final", channel=make_channel("Sport"))
    other.tags.clear()
    page, channel = other.get_absolute_url(), "/channel/sport/"
    assert cost(page) and cost(channel)
    article.summary = "Traffic flows."
    article.save()
    assert cost(page) == cost(channel) == 0
    other.summary = "Extra time."
    other.save()
    assert "Extra time." in get(page).text


def test_moving_many_articles_rebuilds_no_page_of_others() -> None:
    page = live().get_absolute_url()
    waiting = [make_article(f"No. {number}", status=APPROVED, publish_at=soon(hours=1)) for number in range(2)]
    assert cost(page)
    publishing.reschedule_many(waiting, shift=timedelta(hours=1), by=make_editor())
    assert cost(page) == 0


@pytest.mark.parametrize("function", ["front_at", "build_front_page"])
def test_a_response_built_during_a_change_is_of_one_state_and_not_stored(
    monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    """Before the articles are read, and after it."""
    article, name = live(), f"articles.site.views.{function}"
    monkeypatch.setattr(name, _and_then(name, lambda: elsewhere(lambda: rename(article, "Newer"))))
    assert "Newer" not in get("/").text
    monkeypatch.undo()
    assert "Newer" in get("/").text


@pytest.mark.skipif(connection.vendor == "sqlite", reason="needs a server")
def test_a_response_is_of_one_state_if_the_connection_was_lost_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As after a restart of the database: Django asks once for each request, and connects again."""
    article, name = live(), "articles.site.views.front_at"
    monkeypatch.setitem(connection.settings_dict, "CONN_MAX_AGE", None)
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", True)
    connection.close()
    connection.connect()
    connection.close_if_unusable_or_obsolete()  # as at the beginning of a request
    lost = connection.connection.thread_id()
    elsewhere(lambda: connection.cursor().execute(f"KILL {lost}"))
    monkeypatch.setattr(name, _and_then(name, lambda: elsewhere(lambda: rename(article, "Newer"))))
    assert "Newer" not in get("/").text


def test_a_response_is_of_one_instant(monkeypatch: pytest.MonkeyPatch) -> None:
    moment, name = soon(seconds=0.5), "articles.site.views.front_at"
    later = moment + timedelta(seconds=0.1)
    live("Coming", publish_at=moment)
    monkeypatch.setattr(name, _and_then(name, lambda: eventually(lambda: later < datetime.now(UTC))))
    assert "Coming" not in get("/").text
    assert "Coming" in get("/").text


def test_a_search_during_a_change_finds_the_article_before_or_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """MariaDB's full-text index has the new words alone, in whichever state the articles are read."""
    article, name = live(), "articles.search.query._sample_frequencies"
    article.save()  # with its entry
    for changes, address in ((2, "/search/?q=harbour"), (99, "/api/v1/articles/?q=reopens")):
        titles = iter([f"Harbour tunnel {number} reopens" for number in range(changes)])
        changing = _and_then(name, lambda titles=titles: elsewhere(lambda: rename(article, next(titles, ""))))
        monkeypatch.setattr(name, changing)
        assert re.search("bridge|tunnel", get(address).text), address
        monkeypatch.undo()


def elsewhere(change: Callable[[], None]) -> None:
    """Make a change in another connection: what builds a page reads one state of the database and writes nothing."""

    def then_close() -> None:
        try:
            change()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        other.submit(then_close).result()


def rename(article: Article, title: str) -> None:
    if title:
        found = Article.objects.get(pk=article.pk)
        found.title = title
        found.save()


def _and_then(name: str, event: Any) -> Any:
    """The function `name`, with an event between what it looked up and what comes of it."""
    module, _, attribute = name.rpartition(".")
    function = getattr(__import__(module, fromlist=[attribute]), attribute)

    def both(*args: Any, **options: Any) -> Any:
        result = function(*args, **options)
        event()
        return result

    return both


def test_a_lock_that_a_resent_command_finds_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine redis-py resends a SET NX that the server has executed; then all requests waited and built."""
    live()
    monkeypatch.setattr(store, "_MAX_WAIT", 60.0)
    cache = type(caches["responses"])
    add = cache.add

    def sent_twice(self: Any, key: str, *args: Any, **options: Any) -> Any:
        return add(self, key, *args, **options) and add(self, key, *args, **options)

    monkeypatch.setattr(cache, "add", sent_twice)
    assert cost("/") > 0
    assert cost("/") == 0


def test_a_lock_without_a_holder_delays_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    live()
    monkeypatch.setattr(store, "_MAX_WAIT", 0.05)
    cache = type(caches["responses"])

    def held(self: Any, key: str, *args: Any, **options: Any) -> bool:
        self.set(key, "another", timeout=10)
        return False

    with monkeypatch.context() as locked:
        locked.setattr(cache, "add", held)
        backend.responses.set(versions.GENERATION, "1")
        assert cost("/") > 0
    assert cost("/") == 0


def test_of_the_requests_of_a_process_one_asks_redis_and_the_others_wait_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without Redis, which may seem slow when many connect."""
    resting, building, stored, others = threading.Semaphore(0), threading.Event(), threading.Event(), 5
    response = CachedResponse("1", b"made", {}, [NEWS], '"made"', None), time.monotonic() + 60
    asked: list[float] = []

    @contextmanager
    def wait() -> Iterator[None]:
        resting.release()
        yield

    def build(_entry: store.CacheEntry, deadline: float) -> store.Built:
        asked.append(deadline)
        building.set()
        assert all(resting.acquire(timeout=PATIENCE) for _number in range(others))
        stored.set()
        return response

    monkeypatch.setattr(store, "waiting", wait)
    monkeypatch.setattr(store, "read_entry", lambda _key: ({"key": "found"}, None))
    monkeypatch.setattr(store.CacheEntry, "_valid", lambda *_found: response if stored.is_set() else None)
    monkeypatch.setattr(store.CacheEntry, "_build_before_other_processes", build)
    entry = store.CacheEntry("key", "1", lambda: response)
    with ThreadPoolExecutor(1 + others) as threads:
        first = threads.submit(entry.get)
        assert building.wait(PATIENCE)
        found = [first, *(threads.submit(entry.get) for _number in range(others))]
        assert {one.result(PATIENCE) is response for one in found} == {True}
    assert len(asked) == 1


def test_inside_a_transaction_nothing_is_stored() -> None:
    article = live()
    with transaction.atomic():
        Article.objects.filter(pk=article.pk).update(title="Never committed")
        assert "Never committed" in get("/").text
        transaction.set_rollback(True)
    assert "Never committed" not in get("/").text


def test_the_clock_shows_and_hides_without_any_purge() -> None:
    """R0.2"""
    moment = soon(seconds=3)
    live("Leaving", unpublish_at=moment)
    live("Coming", status=APPROVED, publish_at=moment)
    shown_before = []
    while soon() < moment:
        text = get("/").text
        if soon() < moment:
            shown_before.append(("Leaving" in text, "Coming" in text))
    assert set(shown_before) == {(True, False)}, "it was looked at before, and was right each time"
    text = get("/").text
    assert "Coming" in text and "Leaving" not in text


def test_recording_a_publication_by_the_clock_rebuilds_no_page() -> None:
    live(), live("Cup final", status=APPROVED, publish_at=soon(seconds=-1))
    Article.objects.bulk_create(
        Article(title=f"No. {n}", status=APPROVED, publish_at=soon(seconds=-1)) for n in range(150)
    )
    assert "No. 149" in get("/latest/").text
    assert run_due(500) == 1  # of the one whose save has a task
    with transaction.atomic():
        assert len(publishing.publish_due(list(Article.objects.values_list("pk", flat=True))).done) == 150
    assert cost("/latest/") == 0


def test_a_site_without_articles_shows_fronts_of_links_at_their_times() -> None:
    release = Release.objects.create(
        name="Launch", status=Release.Status.SCHEDULED, publish_at=(moment := soon(minutes=1))
    )
    coming, held = (make_front(Card(url="/latest/", headline=name), size=1) for name in ("Soon", "With the launch"))
    FrontVersion.objects.filter(pk=coming.pk).update(live_from=(first := soon(seconds=30)))
    FrontVersion.objects.filter(pk=held.pk).update(live_from=None, status="in_release", release=release)
    assert next_change().at == first
    assert changes_beside(first, since=soon()) == (None, moment)
    Release.objects.update(publish_at=soon())
    assert next_change().is_due
    assert "With the launch" in get("/en/").text


def test_the_next_change_is_the_first_one_by_the_clock() -> None:
    def changes() -> datetime:
        return next_change().at

    earliest = soon() + MAX_TTL
    assert earliest <= changes() <= soon() + MAX_TTL
    moments = [soon(seconds=seconds) for seconds in (50, 40, 30, 20)]
    make_article(status=Status.DRAFT, publish_at=moments[3])
    make_article(status=APPROVED, publish_at=moments[0])
    assert changes() == moments[0]
    article = live(embargo_until=moments[1])
    assert changes() == moments[1]
    Update.objects.create(article=article, approved=article.revisions.get(), publish_at=moments[2])
    assert changes() == moments[2]
    live(unpublish_at=moments[3])
    assert changes() == moments[3]


@pytest.mark.parametrize("hours_left", [0, 1])
def test_the_date_in_the_page_header_changes_at_midnight_in_the_sites_time_zone(
    midnight_in: Callable[[int], None], hours_left: int
) -> None:
    midnight_in(hours_left)

    def midnight() -> datetime:
        local = timezone.localtime(soon(), timezone.get_default_timezone())
        return (local + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)

    before = midnight()
    with mock.patch("articles.cache.next_change.MAX_TTL", timedelta(hours=3)):
        assert next_change().at in (before, midnight())


def test_a_page_is_built_again_after_the_databases_clock_was_set() -> None:
    live()
    assert cost("/latest/") > 0 == cost("/latest/")
    database_clock_set.send_robust(None)
    assert cost("/latest/") > 0 == cost("/latest/")


def test_a_cache_that_fails_when_the_databases_clock_is_set_is_purged_later() -> None:
    fail = mock.patch.object(versions, "_write", return_value=False)
    with fail:
        answers = dict(database_clock_set.send_robust(None))
    assert [type(answer) for answer in answers.values()] == [backend.CacheFailed]  # so it is sent again
    live()
    assert cost("/latest/") > 0 == cost("/latest/")


def test_browsers_revalidate_and_purged_proxies_cache_for_a_second_whatever_is_scheduled(settings: Any) -> None:
    live()
    assert get("/")["Cache-Control"] == "public, max-age=0"
    settings.CDN_PURGE_URLS = ["http://127.0.0.1:1/"]
    live("Coming", status=APPROVED, publish_at=soon(seconds=40))
    for address in LISTS:
        for _built_or_stored in range(2):
            assert get(address)["Cache-Control"] == "public, max-age=0, s-maxage=1", address


def test_proxies_cache_nothing_in_the_last_moments_before_a_change(settings: Any) -> None:
    settings.CDN_PURGE_URLS = ["http://127.0.0.1:1/"]
    article = live("Coming", status=APPROVED, publish_at=soon(seconds=1.9))
    header = get("/")["Cache-Control"]
    assert header == f"public, max-age=0, s-maxage={int(soon() > article.goes_live_at)}"  # 1 on a very busy machine


def test_responses_have_the_tags_of_what_they_show() -> None:
    article = live(author=User.objects.create_user("ada", first_name="Ada"))
    tag, channel = article.tags.get().pk, article.channel_id
    expected = {
        "/": "site news front:en",
        "/channel/politics/": f"site channel:{channel}",
        "/tag/rain/feed/": f"site tag:{tag}",
        f"/author/{article.author_id}/feed/": f"site author:{article.author_id}",
        article.get_absolute_url(): f"site article:{article.pk} channel:{channel} tag:{tag}",
        f"/api/v1/articles/{article.pk}/": f"site article:{article.pk}",
        "/api/v1/channels/": "site",
    }
    for address, tags in expected.items():
        response = get(address)
        assert (response["Surrogate-Key"], response["Cache-Tag"]) == (tags, tags.replace(" ", ","))


@pytest.mark.parametrize("header", [("If-None-Match", "ETag"), ("If-Modified-Since", "Last-Modified")])
def test_an_unchanged_response_gives_304(header: tuple[str, str]) -> None:
    article = live()
    for address in addresses_of(article):
        first = get(address)
        again = Client().get(address, headers={header[0]: first[header[1]]})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", first["ETag"])
        assert again["Cache-Control"] == first["Cache-Control"]


def test_two_versions_of_the_same_second_differ() -> None:
    now = datetime(2026, 11, 21, 9, tzinfo=UTC)
    first, second, third = HttpResponse("1"), HttpResponse("2"), HttpResponse("3")
    assert CachedResponse.of(first, "k", "1", now).modified == now.timestamp()
    assert CachedResponse.of(second, "k", "1", now).modified is None
    assert CachedResponse.of(second, "k", "1", now + timedelta(seconds=9)).modified == now.timestamp() + 1
    assert CachedResponse.of(third, "k", "1", now + timedelta(seconds=9)).modified == now.timestamp() + 9


def test_rebuilding_a_response_does_not_change_its_last_modified() -> None:
    """Otherwise it would reveal when something hidden was purged."""
    now, other = datetime(2026, 11, 21, 9, tzinfo=UTC), HttpResponse("2")
    CachedResponse.of(HttpResponse("1"), "k", "1", now)
    CachedResponse.of(other, "k", "1", now)
    shown = {CachedResponse.of(other, "k", "1", now + timedelta(seconds=seconds)).modified for seconds in (1, 5, 50)}
    assert shown == {now.timestamp() + 1}


def test_a_head_response_is_the_get_response_without_body() -> None:
    article = live()
    for address in addresses_of(article):
        head, full = Client().head(address), get(address)
        assert head.content == b""
        names = ("ETag", "Content-Type", "Cache-Control", "Surrogate-Key")
        assert [head[name] for name in names] == [full[name] for name in names]


def test_pages_vary_by_language_and_feeds_and_api_by_nothing() -> None:
    article = live()
    for address in addresses_of(article):
        is_page = address in (*PAGES, article.get_absolute_url())
        english, chinese = get(address, accept_language="en"), get(address, accept_language="zh-CN")
        assert not english.cookies
        assert set(english.get("Vary", "").split(", ")) == ({"Cookie", "Accept-Language"} if is_page else {""}), address
        assert (english["ETag"] == chinese["ETag"]) == (not is_page), address


@pytest.mark.parametrize("address", ["/article/{}/x/", "/api/v1/articles/{}/"])
def test_hidden_and_unknown_articles_give_the_same_uncached_response(address: str) -> None:
    """R5.6"""
    make_article("Secret", id=1001, status=APPROVED, publish_at=soon(hours=1), slug="x")
    responses = []
    for pk in (1001, 1002):  # as long as each other, as both are in the page
        response = get(address.format(pk))
        responses.append((response.status_code, response.text.replace(address.format(pk), ""), dict(response.headers)))
    assert responses[0] == responses[1]
    assert responses[0][2]["Cache-Control"] == "private, no-store"


def test_the_admin_is_not_cached_and_editors_see_the_same_pages_as_readers() -> None:
    live()
    client = Client()
    client.force_login(make_editor())
    for address in ("/admin/", "/admin/articles/article/", "/api/v1/desk/articles/"):
        response = client.get(address)
        assert response.status_code == 200
        assert {"no-store", "no-cache"} & set(response["Cache-Control"].split(", ")), address
    assert client.get("/").content == get("/").content


def test_pages_are_rebuilt_after_the_cache_or_its_generation_is_lost() -> None:
    live()
    get("/")
    caches["responses"].clear()
    assert cost("/") > 0
    assert cost("/") == 0
    invalidate(["nothing"])
    assert cost("/") == 0


def test_the_number_of_cached_searches_is_bounded() -> None:
    made = []

    @cached("q", max_queries=1)
    def echo(request: HttpRequest) -> HttpResponseBase:
        made.append(request.GET["q"])
        return tagged(HttpResponse(made[-1]), NEWS)

    for word in "aabba":
        response = echo(RequestFactory().get("/search/", {"q": word}))
        assert isinstance(response, HttpResponse) and response.text == word
    assert made == ["a", "b", "a"]


def test_a_cached_search_is_invalidated_when_the_index_is_reconciled() -> None:
    article = live()
    for address in ("/search/?q=zeppelin", "/api/v1/articles/?q=zeppelin"):
        assert article.title not in get(address).text
    Article.objects.filter(pk=article.pk).update(body="<p>A zeppelin came</p>", updated_at=soon())
    for address in ("/search/?q=zeppelin", "/api/v1/articles/?q=zeppelin"):
        assert article.title not in get(address).text
    assert reconcile_index() == 1
    for address in ("/search/?q=zeppelin", "/api/v1/articles/?q=zeppelin"):
        assert article.title in get(address).text.replace("<mark>", "").replace("</mark>", "")


@pytest.mark.parametrize("hangs", [False, True])
def test_without_redis_every_page_is_rebuilt(settings: Any, monkeypatch: pytest.MonkeyPatch, hangs: bool) -> None:
    article = live()
    monkeypatch.setattr(backend, "_RETRY", 60.0)
    monkeypatch.setattr(backend, "_LONGEST_PAUSE", 60.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        if not hangs:
            silent.close()
        port = silent.getsockname()[1] if hangs else free_port()
        options = {"SOCKET_CONNECT_TIMEOUT": 0.2, "SOCKET_TIMEOUT": 0.25}
        address = f"redis://127.0.0.1:{port}/0"
        silent_cache = {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": address, "OPTIONS": options}
        settings.CACHES = {**settings.CACHES, "responses": silent_cache}
        assert cost("/") > 0
        article.title = "Bridge closed again"
        article.save()
        assert cost("/") > 0
        asked = mock.Mock(side_effect=ConnectionError)
        monkeypatch.setattr("redis.connection.AbstractConnection.connect", asked)
        assert "Bridge closed again" in get("/").text
        assert not backend.reachable
        assert not asked.called


def test_a_request_that_dies_while_building_delays_others_only_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(store, "_MAX_WAIT", 0.1)
    dead = store.CacheEntry("dead", "1", lambda: (HttpResponse("made"), 1.0))
    caches["responses"].add("pages:lock:1", "making", timeout=60)
    made, _left = dead.get()
    assert isinstance(made, HttpResponse) and made.content == b"made"


def _gone(article: Article) -> bool:
    return article.title not in get("/").text


def test_readers_see_changes_from_every_source() -> None:
    """R5.5"""
    alice, editor = make_editor(), make_editor("bob")
    image = make_image(alice)
    image.caption = "Before the rain"
    image.save()
    article = live(cover_mode="one", cover=[str(image.pk)], published_at=soon(hours=-1))
    page = article.get_absolute_url()
    assert "Before the rain" in get(page).text
    images.change_image(image, changes={"caption": "After the rain"}, by=alice)
    assert "After the rain" in get(page).text

    assert article.title in get("/tag/rain/").text
    article.tags.set([Tag.objects.create(name="Snow")])
    assert get("/tag/rain/").status_code == 404
    assert article.title in get("/tag/snow/").text

    Channel.objects.filter(slug="politics").update(enabled=False)
    assert get("/channel/politics/").status_code == 404
    Channel.objects.filter(slug="politics").update(enabled=True)
    assert get("/channel/politics/").status_code == 200

    publishing.retract(article, by=alice, notice="It was all wrong.")
    retracted = get(page)
    assert (retracted.status_code, retracted["Cache-Control"], _gone(article)) == (410, "private, no-store", True)
    publishing.undo_retraction(article, by=alice)
    assert get(page).status_code == 404
    publishing.republish(article, by=editor)
    assert not _gone(article)
    article.delete()
    assert _gone(article)


def test_a_time_set_just_before_it_is_due_is_met() -> None:
    article, editor = make_article(status=APPROVED, channel=make_channel("Politics")), make_editor()
    assert _gone(article)
    moment = soon(seconds=4)
    publishing.schedule_many([article], publish_at=moment, by=editor)
    looks = []
    while soon() < moment:
        was_gone = _gone(article)
        if soon() < moment:
            looks.append(was_gone)
    assert set(looks) == {True}, "it was looked for before its time, and was not there"
    assert not _gone(article), "an answer that was made before does not outlive the moment"
