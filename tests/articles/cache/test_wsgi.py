"""The WSGI middleware of the response cache sends what Django would, and only while it is valid."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Barrier
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from django.contrib.auth.models import User
from django.core.handlers.wsgi import WSGIHandler
from django.db import connection
from django.test import RequestFactory
from django.urls import reverse
from prometheus_client import REGISTRY

from articles import publishing
from articles.cache import backend, memory, versions
from articles.cache.memory import Copies, Copy
from articles.cache.request_metrics import write_request_metrics
from articles.cache.wsgi import CacheMiddleware
from articles.models import Article, Tag
from articles.site.urls import urlpatterns
from headline.caches import caches as configured
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, soon
from tests.harness import Server, start_redis

pytestmark = pytest.mark.django_db(transaction=True)

Response = tuple[str, list[tuple[str, str]], bytes]
Connect = Callable[[str], redis.Redis]

NOT_CACHED = {
    "media",
    "preview",
    "article-by-id",
    "robots",
    "icon",
    "front-archive",
    "push",
    "push-worker",
    "shared-page",
}
"""Reader URLs of files, previews, redirects and of a constant."""


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes clients of Redis, and closes them."""
    with ExitStack() as made:
        yield lambda url: made.enter_context(redis.Redis.from_url(url))


class Django:
    """The project without the middleware; counts the requests that reach it."""

    def __init__(self) -> None:
        self.handler = WSGIHandler()
        self.requests = 0

    def __call__(self, environ: Any, start_response: Any) -> Any:
        self.requests += 1
        return self.handler(environ, start_response)


class Stack:
    """The middleware on top of Django."""

    def __init__(self) -> None:
        self.django = Django()
        self.middleware = CacheMiddleware(self.django)

    def reaches_django(self, address: str, **request: Any) -> bool:
        """Whether Django answers this request."""
        before = self.django.requests
        ask(self.middleware, address, **request)
        return self.django.requests > before


def ask(
    application: Any, address: str, method: str = "GET", headers: dict[str, str] | None = None, **environ: Any
) -> Response:
    """A request as a WSGI server makes it."""
    request = RequestFactory(headers=headers).generic(method, address, **environ)
    sent: list[Any] = []
    response = application(request.environ, lambda status, headers, exc_info=None: sent.extend((status, headers)))
    return sent[0], list(sent[1]), b"".join(response)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = start_redis(tmp_path_factory.mktemp("cache"))
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def _redis(server: Server, settings: Any) -> None:
    """A shared cache, whichever the tests run on."""
    settings.PAGE_CACHE_SECONDS = 60.0
    settings.PAGE_CACHE_VALIDATION_SECONDS = 0.0
    settings.REDIS_CACHE_URL = f"{server.url}/1"
    settings.CACHES = configured(settings.REDIS_CACHE_URL)
    backend.responses.clear()
    disconnect()


def disconnect() -> None:
    """As a process that has just started."""
    backend.responses.client.get_client().connection_pool.disconnect()
    versions._generation.reader.forget()


@pytest.fixture
def stack() -> Stack:
    return Stack()


@pytest.fixture
def article() -> Article:
    ada = User.objects.create_user("ada", first_name="Ada", last_name="Lin")
    values = {"status": Article.Status.PUBLISHED, "publish_at": soon(hours=-1), "channel": make_channel("Politics")}
    article = make_article("Harbour bridge reopens", author=ada, **values)
    article.tags.add(Tag.objects.create(name="Rain"))
    return article


def addresses(article: Article) -> list[str]:
    """All reader URLs that are cached, and those of the API."""
    arguments: list[dict[str, Any]] = [
        {}, {"slug": "politics"}, {"slug": "rain"}, {"pk": article.author_id}, {"number": 0},
        {"pk": article.pk, "slug": article.slug}, {"form": "json"}, {"slug": "politics", "form": "atom"},
        {"slug": "rain", "form": "atom"}, {"pk": article.author_id, "form": "json"}, {"language": "en"},
    ]  # fmt: skip
    wanted = {
        "channel": 1, "tag": 2, "author": 3, "sitemap-section": 4, "article": 5,
        "channel-feed": 1, "tag-feed": 2, "author-feed": 3, "front": 10,
    }  # fmt: skip
    names = {str(pattern.name) for pattern in urlpatterns} - NOT_CACHED
    api = "/api/v1/articles/"
    return [
        *(reverse(name, kwargs=arguments[wanted.get(name, 0)]) for name in sorted(names)),
        *(reverse(name, kwargs=arguments[number]) for name, number in
          (("feed", 6), ("channel-feed", 7), ("tag-feed", 8), ("author-feed", 9))),
        "/?page_size=3", "/search/?q=bridge", api, f"{api}?channel=politics&page_size=2", f"{api}{article.pk}/",
        "/api/v1/channels/",
    ]  # fmt: skip


REQUESTS: list[dict[str, Any]] = [
    {},
    {"method": "HEAD"},
    {"headers": {"accept-language": "zh-CN,zh;q=0.9"}},
    {"headers": {"if-none-match": '"another"'}},
    {"headers": {"cookie": "theme=dark", "x-forwarded-for": "203.0.113.9"}},
    {"headers": {"range": "bytes=0-9", "accept": "text/html, */*"}},
    {"wsgi.url_scheme": "https"},
]


def test_a_hit_has_the_bytes_and_headers_of_django(stack: Stack, article: Article, settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS = 3600
    for address in addresses(article):
        ask(stack.django, address)
        for request in REQUESTS:
            assert_same(stack, address, request, status="200 OK")


def test_an_unchanged_response_gives_the_304_of_django(stack: Stack, article: Article) -> None:
    for address in addresses(article):
        ask(stack.django, address)
        known = dict(ask(stack.django, address)[1])
        for method, header, value in [
            ("GET", "if-none-match", known["ETag"]),
            ("HEAD", "if-none-match", f'"x", W/{known["ETag"]}'),
            ("GET", "if-modified-since", known["Last-Modified"]),
        ]:
            assert_same(stack, address, {"method": method, "headers": {header: value}}, status="304 Not Modified")


def assert_same(stack: Stack, address: str, request: dict[str, Any], *, status: str) -> None:
    """The middleware sends what Django sends, without it."""
    wanted = ask(stack.django, address, **request)
    assert wanted[0] == status
    warm(stack, address, **request)
    before = stack.django.requests
    assert ask(stack.middleware, address, **request) == wanted
    assert stack.django.requests == before, address


UNUSUAL: list[tuple[str, dict[str, Any], str]] = [
    ("/", {"method": "POST"}, "403"),
    ("/", {"headers": {"cookie": "a=b; sessionid=x"}}, "200"),
    ("/", {"headers": {"cookie": "csrftoken=wrong"}}, "200"),
    ("/", {"headers": {"cookie": "django_language=zh-hans"}}, "200"),
    ("/", {"headers": {"host": "elsewhere.test"}}, "400"),
    ("/", {"headers": {"if-match": '"x"'}}, "412"),
    ("/", {"headers": {"authorization": "Bearer x"}}, "200"),
    ("/?utm_source=x", {}, "200"),
    ("/channel/%70olitics/?page_size=007", {}, "200"),
    ("/nowhere/", {}, "404"),
    ("/admin/login/", {}, "200"),
    ("/healthz", {}, "200"),
]


@pytest.mark.cases(4)
@pytest.mark.parametrize(("address", "request_", "status"), UNUSUAL)
def test_unusual_requests_reach_django_each_time(
    stack: Stack, article: Article, address: str, request_: dict[str, Any], status: str
) -> None:
    for _ in range(3):
        ask(stack.middleware, "/")
        ask(stack.middleware, "/channel/politics/")
    for _ in range(3):
        assert stack.reaches_django(address, **request_)
        assert ask(stack.middleware, address, **request_)[0].startswith(status)


def shows(stack: Stack, text: str, address: str = "/") -> bool:
    return text in ask(stack.middleware, address)[2].decode()


def warm(stack: Stack, *addresses: str, **request: Any) -> None:
    """Ask until the middleware answers: at the latest the third time."""
    for address in addresses:
        assert not all(stack.reaches_django(address, **request) for _ in range(3)), address


def test_a_change_is_visible_at_once_and_other_pages_stay_hits(stack: Stack, article: Article) -> None:
    sport, page = make_channel("Sport"), article.get_absolute_url()
    make_article("Cup final", status=Article.Status.PUBLISHED, publish_at=soon(hours=-1), channel=sport)
    warm(stack, "/", page, "/channel/sport/")
    publishing.unpublish(article, by=make_editor())
    assert not stack.reaches_django("/channel/sport/"), "its tags were not purged"
    assert not shows(stack, article.title)
    assert ask(stack.middleware, page)[0].startswith("404")


def test_the_clock_shows_and_hides_without_any_purge(stack: Stack, article: Article) -> None:
    moment = soon(seconds=2)
    make_article("Coming", status=APPROVED, publish_at=moment)
    Article.objects.filter(pk=article.pk).update(unpublish_at=moment)
    warm(stack, "/")
    while soon() < moment:
        text = ask(stack.middleware, "/")[2].decode()
        seen = article.title in text, "Coming" in text
        assert soon() >= moment or seen == (True, False)
    assert shows(stack, "Coming") and not shows(stack, article.title)


@pytest.mark.thorough
def test_a_page_ends_at_its_time_though_redis_clock_is_set_back(
    stack: Stack, article: Article, server: Server, settings: Any, connect: Connect
) -> None:
    client = connect(settings.REDIS_CACHE_URL)
    moment = soon(seconds=2)
    Article.objects.filter(pk=article.pk).update(unpublish_at=moment)
    warm(stack, "/")
    for key in client.scan_iter("*"):
        client.pexpire(key, 3_600_000)
    another_process = Stack()
    warm(another_process, "/")
    while soon() < moment:
        time.sleep(0.05)
    assert not shows(another_process, article.title)
    assert not shows(Stack(), article.title)


@pytest.mark.parametrize(
    ("name", "refusing", "serving"), [("replicaof", "127.0.0.1 1", "NO ONE"), ("min-replicas-to-write", "1", "0")]
)
def test_a_redis_that_refuses_purges_gives_no_hits(
    stack: Stack,
    article: Article,
    settings: Any,
    tmp_path: Path,
    connect: Connect,
    name: str,
    refusing: str,
    serving: str,
) -> None:
    """A process that has not tried to purge cannot know it otherwise."""
    own = start_redis(tmp_path / "own")
    settings.CACHES = configured(f"{own.url}/0")
    client = connect(own.url)
    configure = client.replicaof if name == "replicaof" else partial(client.config_set, name)
    warm(stack, "/")
    configure(*refusing.split())
    assert stack.reaches_django("/"), "from a copy"
    backend.reachable._again_at = float("-inf")
    unpublish_elsewhere(article)
    assert not shows(stack, article.title)
    assert not shows(Stack(), article.title), "from the cache"
    configure(*serving.split())
    backend.reachable._again_at = float("-inf")
    warm(stack, "/")
    own.kill()


def unpublish_elsewhere(article: Article) -> None:
    """In another process, whose purge does not arrive."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE articles_article SET status = {Article.Status.UNPUBLISHED:d} WHERE id = %s",  # noqa: S608
            [article.pk],
        )


def test_a_redis_restored_from_older_contents_gives_no_hits(
    stack: Stack, article: Article, settings: Any, tmp_path: Path, connect: Connect
) -> None:
    own = start_redis(tmp_path / "own")
    settings.CACHES = configured(f"{own.url}/0")
    warm(stack, "/")
    connect(own.url).save()
    publishing.unpublish(article, by=make_editor())
    assert not shows(stack, article.title)
    own.kill()
    own.start()
    for _ in range(3):
        assert not shows(stack, article.title)
        assert not shows(Stack(), article.title)
        backend.reachable._again_at = float("-inf")
    assert connect(own.url).dbsize(), "it has stored nothing"
    warm(stack, "/")
    own.kill()


def test_older_contents_without_a_restart_give_no_hits(
    stack: Stack, article: Article, settings: Any, tmp_path: Path, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server was in its place for a while, or it was the replica of one that had missed purges."""
    monkeypatch.setattr(versions, "_TOLERANCE", 0)
    own = start_redis(tmp_path / "own")
    settings.CACHES = configured(f"{own.url}/0")
    client = connect(own.url)
    warm(stack, "/")
    older = {key: client.dump(key) for key in client.scan_iter("*")}
    publishing.unpublish(article, by=make_editor())
    assert not shows(stack, article.title)
    client.flushall()
    for key, contents in older.items():
        client.restore(key, 60_000, contents or b"")
    for _ in range(2):
        assert not shows(stack, article.title), "from a copy"
        assert not shows(Stack(), article.title), "from the cache"
    warm(stack, "/")
    own.kill()


def test_a_copy_ends_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The monotonic clock stands still then."""
    copy = Copy("200 OK", [], b"", None, time.monotonic() + 60, [], {}, "1-a")  # type: ignore[arg-type]
    monkeypatch.setattr(memory, "present_generation", lambda: "1-a")
    assert copy.is_valid()
    monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=time.monotonic, time=lambda: time.time() + 61))
    assert not copy.is_valid()


def test_hits_within_some_milliseconds_ask_redis_once(stack: Stack, article: Article, settings: Any) -> None:
    settings.PAGE_CACHE_VALIDATION_SECONDS = 60.0
    warm(stack, "/")
    backend.responses.set(versions.GENERATION, "changed by another process")
    backend.responses.delete("pages:tag:site")
    assert not stack.reaches_django("/")
    are_over()
    assert stack.reaches_django("/")


def are_over() -> None:
    """The milliseconds in which Redis is not asked again."""
    known = versions._generation._known
    known[0] = known[0][0], 0.0


def test_while_one_request_asks_redis_no_other_gets_a_copy(
    stack: Stack, article: Article, server: Server, settings: Any
) -> None:
    settings.PAGE_CACHE_VALIDATION_SECONDS = 60.0
    warm(stack, "/")
    are_over()
    reached: list[str] = []

    def instead_of_django(environ: Any, start_response: Any) -> list[bytes]:
        reached.append(environ["PATH_INFO"])
        start_response("200 OK", [])
        return [b""]

    stack.django.handler = instead_of_django  # type: ignore[assignment]
    together = Barrier(2)

    def request(_number: int) -> None:
        together.wait()
        ask(stack.middleware, "/")

    with server.frozen(), ThreadPoolExecutor(2) as pool:
        list(pool.map(request, range(2)))
    assert reached == ["/", "/"]


def test_what_was_read_before_a_change_is_not_kept_after_it(
    stack: Stack, article: Article, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.PAGE_CACHE_VALIDATION_SECONDS = 60.0
    warm(stack, "/")
    are_over()
    read = versions._generation.reader.read

    def unpublish_after() -> Any:
        value = read()
        publishing.unpublish(article, by=make_editor())
        return value

    with monkeypatch.context() as patched:
        patched.setattr(versions._generation.reader, "read", unpublish_after)
        ask(stack.middleware, "/")
    assert not shows(stack, article.title)


def test_the_process_that_makes_a_change_sends_no_copy_from_before(
    stack: Stack, article: Article, settings: Any
) -> None:
    settings.PAGE_CACHE_VALIDATION_SECONDS = 60.0
    warm(stack, "/")
    publishing.unpublish(article, by=make_editor())
    assert not shows(stack, article.title)


def test_a_hit_needs_a_cache_that_can_be_read_and_invalidated(
    stack: Stack, article: Article, server: Server, settings: Any
) -> None:
    warm(stack, "/")
    backend.responses.clear()
    assert stack.reaches_django("/"), "there is no generation"
    warm(stack, "/")
    versions._failed._tags.add("news")
    assert stack.reaches_django("/"), "a purge is due before the cache may be used"
    warm(stack, "/")
    backend.reachable.mark_unreachable()
    assert stack.reaches_django("/")


def test_a_hit_survives_a_closed_connection_and_not_a_stopped_server(
    stack: Stack, article: Article, settings: Any, tmp_path: Path
) -> None:
    own = start_redis(tmp_path / "own")
    settings.CACHES = configured(f"{own.url}/0")
    warm(stack, "/")
    versions._generation.reader._connection._sock.shutdown(socket.SHUT_RDWR)
    warm(stack, "/")
    own.kill()
    assert stack.reaches_django("/")
    assert shows(stack, article.title)


def test_the_header_for_proxies_does_not_count_down(stack: Stack, article: Article, settings: Any) -> None:
    settings.CDN_PURGE_URLS = ["http://127.0.0.1:1/"]
    make_article("Coming", status=APPROVED, publish_at=soon(seconds=20))
    warm(stack, "/")
    copy = next(iter(stack.middleware._copies._copies.values()))
    copy.expires_at -= 5
    (value,) = [value for name, value in ask(stack.middleware, "/")[1] if name == "Cache-Control"]
    assert value == "public, max-age=0, s-maxage=1"


def test_hits_count_in_the_metrics_as_other_requests_do(stack: Stack, article: Article) -> None:
    page = article.get_absolute_url()
    warm(stack, page)
    names = ("django_http_", "headline_cache_lookups")
    write_request_metrics()

    def counted(application: Any) -> dict[str, float]:
        before = _samples(names)
        for _ in range(3):
            ask(application, page)
        write_request_metrics()
        return {
            name: value - before.get(name, 0) for name, value in _samples(names).items() if value != before.get(name)
        }

    assert counted(stack.middleware) == counted(stack.django)


def _samples(names: tuple[str, ...]) -> dict[str, float]:
    """All but the durations."""
    return {
        f"{sample.name} {sorted(sample.labels.items())}": sample.value
        for metric in REGISTRY.collect()
        if metric.name.startswith(names)
        for sample in metric.samples
        if not ("latency" in sample.name and sample.name.endswith(("_sum", "_bucket")))
        and "_created" not in sample.name
    }


def test_the_memory_is_bounded_and_the_least_recently_used_copy_goes_first() -> None:
    def copy(size: int) -> Copy:
        return Copy("200 OK", [], b"x" * size, None, 0.0, [], {}, "")  # type: ignore[arg-type]

    copies = Copies(50_000)
    for number in range(4):
        copies.add((str(number),), copy(8_000))
    assert copies.get(("0",))
    copies.add(("4",), copy(8_000))
    copies.add(("4",), copy(7_000))
    assert [bool(copies.get((str(number),))) for number in range(5)] == [True, False, True, True, True]
    copies.add(("5",), copy(60_000))
    assert not any(copies.get((str(number),)) for number in range(6))
