"""Requests of the newsroom wait for their turn; expensive ones beyond a limit are refused; the rest is answered."""

from __future__ import annotations

import http.client
import queue
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import Client, RequestFactory
from django.urls import get_resolver, resolve
from pytest_django import Settings

from articles.limits import ENDED_SESSION_BODY
from articles.models import Article
from headline import admission
from headline.admission import _COMPARISONS, _IMAGES, AT_ONCE, EACH, WAITING, AdmissionMiddleware, is_expensive
from headline.api.tokens import issue
from headline.deadline import DeadlineMiddleware
from headline.doctor.middleware import PROBES
from tests.articles.factories import make_user
from tests.conftest import Site
from tests.harness import PATIENCE, eventually

pytestmark = pytest.mark.django_db(transaction=True)

IMAGE = "00000000-0000-4000-8000-000000000000"
SEARCH = "/search/?q=budget"


def while_running(
    path: str, act: Callable[[], object], *, address: str = "192.0.2.1", client: Client | None = None
) -> Any:
    """The response of a request during whose first statement `act` runs, in another thread."""
    waiting = [act]

    def act_apart(act: Callable[[], object]) -> None:
        try:
            act()
        finally:
            connection.close()

    def run_first(execute: Callable[..., Any], *arguments: Any) -> Any:
        if waiting:
            with ThreadPoolExecutor(1) as other:
                other.submit(act_apart, waiting.pop()).result()
        return execute(*arguments)

    with connection.execute_wrapper(run_first):
        return get(path, address=address, client=client)


def get(path: str, *, address: str = "192.0.2.1", client: Client | None = None) -> Any:
    return (client or Client()).get(path, REMOTE_ADDR=address)


def test_a_client_has_two_searches_at_once() -> None:
    found = []
    outer = while_running(
        SEARCH + "1", lambda: found.append(while_running(SEARCH + "2", lambda: found.append(get(SEARCH))))
    )
    refused, second = found
    assert EACH == 2
    assert (outer.status_code, second.status_code, refused.status_code) == (200, 200, 429)
    assert (refused.headers["Retry-After"], refused.headers["Cache-Control"]) == ("1", "private, no-store")
    assert get(SEARCH).status_code == 200


def test_all_clients_together_have_few_and_everything_else_is_answered(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.EXPENSIVE_REQUESTS = 1
    staff = Client()
    staff.force_login(make_user("alice", is_superuser=True))
    found: list[Any] = []

    def ask() -> None:
        found.append(get(SEARCH, address="198.51.100.7"))
        found.append(get("/api/v1/articles/?search=budget", address="198.51.100.8"))
        found.extend(get(path) for path in ("/", "/healthz", "/api/v1/articles/"))
        found.append(get("/admin/articles/article/?q=budget", client=staff))

    assert while_running(SEARCH, ask).status_code == 200
    assert [one.status_code for one in found] == [503, 503, 200, 200, 200, 200]
    assert found[1].json()["code"] == "busy"
    assert "django.request" not in {record.name for record in caplog.records}  # or each refusal would be a line


def test_a_request_that_fails_gives_its_slot_back(settings: Settings) -> None:
    settings.EXPENSIVE_REQUESTS = 1

    def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError):
        while_running(SEARCH, fail)
    assert get(SEARCH).status_code == 200


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/search/?q=a", True),
        ("/admin/search/?s=a", True),
        ("/admin/articles/article/?q=a", True),
        ("/api/v1/desk/articles/?search=a", True),
        ("/admin/articles/article/1/revisions/2/", True),
        ("/api/v1/desk/articles/1/revisions/2/diff/", True),
        ("/search/", False),
        ("/article/1/ships/?s=20", False),  # as some networks add it to what is shared, perhaps ten thousand times
        ("/?q=a", False),
        ("/feed/?search=a", False),
        ("/admin/articles/article/", False),
        ("/admin/articles/image/add/", False),  # the form, not what it sends
    ],
)
def test_what_is_expensive(path: str, expected: bool, rf: RequestFactory) -> None:  # noqa: FBT001
    request = rf.get(path)
    request.resolver_match = resolve(request.path_info)
    assert is_expensive(request) is expected


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/admin/articles/image/add/"),
        ("POST", f"/admin/articles/image/{IMAGE}/change/"),
        ("POST", f"/admin/articles/image/{IMAGE}/focus/"),
        ("PATCH", f"/api/v1/desk/images/{IMAGE}/"),
        ("POST", "/admin/desk/proposed-changes/1/approve/"),
        ("POST", "/api/v1/desk/proposed-changes/1/approve/"),
    ],
)
def test_what_decodes_an_image_is_expensive(method: str, path: str, rf: RequestFactory) -> None:
    """Also a new focal point."""
    request = rf.generic(method, path)
    request.resolver_match = resolve(path)
    assert is_expensive(request)


def test_the_addresses_that_are_named_exist() -> None:
    admin = get_resolver().namespace_dict["admin"][1]
    own = {name.removeprefix("admin:") for name in _COMPARISONS | _IMAGES if name.startswith("admin:")}
    others = {name for name in _COMPARISONS | _IMAGES if ":" not in name}
    assert own <= {str(key) for key in admin.reverse_dict}
    assert others <= {str(key) for key in get_resolver().reverse_dict}
    assert {*PROBES} == admission._PROBES


class Work:
    """The middleware before work that lasts until the test ends it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.slots = admission._Slots(AT_ONCE, lambda: AT_ONCE + 1, waiting=WAITING)
        monkeypatch.setattr(admission, "newsroom", self.slots)
        monkeypatch.setattr(admission, "_people", {})
        monkeypatch.setattr(admission, "LONGEST_WAIT", 2 * PATIENCE)  # who waits for that long fails the test
        self.begun: queue.Queue[str] = queue.Queue()
        self._end = threading.Semaphore(0)
        self._handle = DeadlineMiddleware(AdmissionMiddleware(self._work))
        self._threads = ThreadPoolExecutor(50)

    def _work(self, request: HttpRequest) -> HttpResponse:
        self.begun.put(request.headers["X-Name"])
        assert self._end.acquire(timeout=PATIENCE)
        return HttpResponse()

    def send(self, name: str, *, person: str, path: str = "/admin/") -> Future[Any]:
        """The response to come of a request of a person, whom the middleware knows by the session."""
        request = RequestFactory().get(path, headers={"X-Name": name, "Cookie": f"sessionid={person}"})
        claim = admission._claim(request)
        assert claim
        admission._people[claim] = person
        return self._threads.submit(self._handle, request)

    def waits(self, name: str, *, person: str) -> Future[Any]:
        """The response to come of a request that waits now."""
        before = self.slots.waiting
        sent = self.send(name, person=person)
        eventually(lambda: self.slots.waiting == before + 1)
        return sent

    def begins(self) -> str:
        """The name of the request that is begun next."""
        return self.begun.get(timeout=PATIENCE)

    def end(self, count: int = 1) -> None:
        """End the work of so many requests."""
        self._end.release(count)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    made = Work(monkeypatch)
    yield made
    made.end(100)
    made._threads.shutdown()


def test_two_requests_of_a_person_run_and_the_next_waits_for_its_turn(work: Work) -> None:
    for name in "ab":
        work.send(name, person="alice")
        assert work.begins() == name
    waiting = work.waits("c", person="alice")
    work.send("d", person="bob")
    assert work.begins() == "d"  # another person waits for nothing
    work.end()
    assert work.begins() == "c"
    work.end(3)
    assert waiting.result(PATIENCE).status_code == 200
    work.send("e", person="alice")
    assert work.begins() == "e"


def test_all_people_together_leave_threads_free_and_take_turns_in_their_order(work: Work) -> None:
    for name in "ab":
        work.send(name, person="alice")
    work.send("c", person="bob")
    assert {work.begins() for _number in range(3)} == {*"abc"}
    work.waits("d", person="bob")
    work.waits("e", person="carol")
    work.end()
    assert work.begins() == "d"
    work.end()
    assert work.begins() == "e"


def test_beside_eight_that_wait_a_person_gets_429(work: Work) -> None:
    for number in range(AT_ONCE):
        work.send(f"runs {number}", person="alice")
        work.begins()
    for number in range(WAITING // 2):
        work.waits(f"waits {number}", person="alice")
    refused = work.send("refused", person="alice").result(PATIENCE)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert refused.headers["Cache-Control"] == "private, no-store"
    work.send("reader", person="alice", path="/en/")
    assert work.begins() == "reader"


def test_beside_sixteen_that_wait_everyone_gets_503(work: Work) -> None:
    for number in range(AT_ONCE):
        work.send(f"runs {number}", person="alice")
        work.begins()
    work.send("runs", person="bob")
    work.begins()
    for number in range(WAITING):
        work.waits(f"waits {number}", person=f"person {number}")
    assert work.send("refused", person="carol").result(PATIENCE).status_code == 503


def test_who_waits_too_long_is_refused_and_takes_no_turn(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "LONGEST_WAIT", 0.01)
    for name in "ab":
        work.send(name, person="alice")
        work.begins()
    assert work.send("late", person="alice").result(PATIENCE).status_code == 429
    work.end()
    work.send("d", person="alice")
    assert work.begins() == "d"


def test_tokens_and_sessions_of_a_user_are_one_person_once_a_view_has_accepted_them(client: Client) -> None:
    user = make_user("alice", is_superuser=True)
    client.force_login(user)
    token = issue(user, by=user, name="script")[1]
    authorization = {"Authorization": f"Bearer {token}"}
    forged = {"Authorization": "Bearer forged"}
    client.get("/admin/")
    for headers in (authorization, forged):
        Client().get("/api/v1/desk/articles/", headers=headers)

    def person(headers: dict[str, str]) -> str:
        return admission._client_of(RequestFactory().get("/admin/", headers=headers))

    session = client.cookies["sessionid"].value
    mine = person({"Cookie": f"sessionid={session}"})
    assert (mine, person(authorization)) == (f"user {user.pk}",) * 2
    assert person(forged) == person({}) == "address 127.0.0.1"


def test_people_at_one_address_are_different_clients_from_their_first_requests_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admission, "_people", {})
    taken: list[str] = []

    class Slots(admission._Slots):
        def take(self, client: str) -> HTTPStatus | None:
            taken.append(client)
            return super().take(client)

    monkeypatch.setattr(admission, "newsroom", Slots(AT_ONCE, lambda: AT_ONCE, waiting=WAITING))
    people = [make_user(name, is_superuser=True) for name in ("alice", "bob")]
    for user in people:
        browser = Client()
        browser.force_login(user)
        assert browser.get("/admin/").status_code == 200
    Client().get("/admin/", headers={"Cookie": "sessionid=forged"})
    assert taken == [*(f"user {user.pk}" for user in people), "address 127.0.0.1"]


def test_where_sessions_cannot_be_read_requests_wait_for_their_turn_by_address(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(make_user("alice", is_superuser=True))
    monkeypatch.setattr(admission, "_recognising", threading.Semaphore(0))
    monkeypatch.setattr(admission, "LONGEST_LOOK", 0.01)
    assert client.get("/admin/").status_code == 200


def test_an_ended_session_is_nobodys(client: Client) -> None:
    client.force_login(make_user("alice", is_superuser=True))
    cookie = {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}
    client.get("/admin/")
    client.logout()
    Client().get("/admin/", headers=cookie)
    assert admission._client_of(RequestFactory().get("/admin/", headers=cookie)) == "address 127.0.0.1"


def test_people_behind_a_proxy_that_asks_all_for_one_password_are_different_clients() -> None:
    shared, clients = {"Authorization": "Basic c2hhcmVk"}, []
    for name in ("alice", "bob"):
        browser = Client()
        user = make_user(name, is_superuser=True)
        browser.force_login(user)
        browser.get("/admin/", headers=shared)
        cookie = {"Cookie": f"sessionid={browser.cookies['sessionid'].value}"}
        clients.append((admission._client_of(RequestFactory().get("/admin/", headers={**shared, **cookie})), user.pk))
    assert [client for client, _pk in clients] == [f"user {pk}" for _client, pk in clients]


def test_an_address_that_a_client_has_written_is_no_person(settings: Settings) -> None:
    settings.PROXY_COUNT = 2
    request = RequestFactory().get("/admin/", headers={"X-Forwarded-For": "user 1, 192.0.2.9"})
    assert admission._client_of(request) == "address user 1"


def test_the_log_in_itself_makes_no_stranger_known(client: Client) -> None:
    make_user("alice", is_superuser=True)
    client.post("/admin/login/", {"username": "alice", "password": "secret"})
    stranger = SimpleNamespace(path_info="/admin/", headers={}, COOKIES={}, META={"REMOTE_ADDR": "192.0.2.9"})
    assert admission._client_of(stranger) == "address 192.0.2.9"  # type: ignore[arg-type]


def test_a_person_whose_requests_occupy_a_web_server_stops_no_probe_and_no_page(site: Site) -> None:
    user = make_user("alice", is_superuser=True)
    token = issue(user, by=user, name="script")[1]
    hosts = [_unfinished(site, token) for _number in range(2 + WAITING // 2 + 1)]  # of four threads, two serve readers
    try:
        (refused,), _writable, _broken = select.select(hosts, [], [], PATIENCE)
        assert b" 429 " in refused.recv(100)
        assert _status(site, "/healthz") == 200
        assert select.select(hosts, [], [], 0)[0] == [refused]  # all others still occupy it
        assert _status(site, "/en/") == 200
    finally:
        for host in hosts:
            host.close()


def _unfinished(site: Site, token: str) -> socket.socket:
    """A connection with a request that is worked on until it is closed: its body does not come."""
    url = urlsplit(site.url)
    assert url.hostname and url.port
    sent = socket.create_connection((url.hostname, url.port))
    head = [f"Host: {url.netloc}", f"Authorization: Bearer {token}", "Content-Type: application/json"]
    lines = ["POST /api/v1/desk/articles/ HTTP/1.1", *head, f"Content-Length: {ENDED_SESSION_BODY + 1}", "", ""]
    sent.sendall("\r\n".join(lines).encode())
    return sent


def _status(site: Site, path: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(site.url).netloc, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_what_a_request_waits_for_is_not_taken_from_its_time(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    read = iter([100.0, 108.0])
    monkeypatch.setattr(admission, "time", SimpleNamespace(monotonic=lambda: next(read)))
    ends: list[float] = []

    def work(request: Any) -> HttpResponse:
        ends.append(request.deadline._end)
        return HttpResponse()

    earliest = time.monotonic() + settings.REQUEST_TIMEOUT + 8
    assert DeadlineMiddleware(AdmissionMiddleware(work))(RequestFactory().get("/admin/")).status_code == 200
    assert earliest <= ends[0]


class Watched(threading.Event):
    """An event that says when a thread waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = threading.Event()
        self.set()

    def wait(self, timeout: float | None = None) -> bool:
        self.waiting.set()
        return super().wait(timeout)


@pytest.mark.parametrize("path", ["/admin/", SEARCH])
def test_what_takes_long_begins_no_statement_while_a_page_is_made(monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.setattr(admission, "_TURN", PATIENCE)
    monkeypatch.setattr(admission, "GIVEN_WAY", PATIENCE)
    monkeypatch.setattr(admission.pages, "_none", made := Watched())
    done: list[str] = []

    def work(request: HttpRequest) -> HttpResponse:
        request.resolver_match = resolve(request.path_info)
        assert middleware.process_view(request) is None
        Article.objects.exists()
        done.append(path)
        connection.close()
        return HttpResponse()

    middleware = AdmissionMiddleware(work)
    with ThreadPoolExecutor(1) as threads, admission.pages:
        sent = threads.submit(DeadlineMiddleware(middleware), RequestFactory().get(path))
        assert made.waiting.wait(PATIENCE)
        assert done == []
        admission.pages.__exit__()
        assert sent.result(PATIENCE).status_code == 200
        admission.pages.__enter__()
    assert (done, made.is_set()) == ([path], True)


def test_who_holds_locks_gives_way_to_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission.pages, "_none", made := Watched())
    request = RequestFactory().get("/admin/")
    with transaction.atomic(), admission.pages, admission.pages.first(request):
        Article.objects.exists()
    assert not made.waiting.is_set()


def test_what_has_given_way_for_long_goes_on_beside_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "GIVEN_WAY", 0.0)
    with admission.pages:
        assert get("/admin/login/").status_code == 200


def test_a_request_that_waits_leaves_its_thread_to_another() -> None:
    threads = admission._Threads()
    threads.start(1)
    with threads.working:
        with threads.resting():
            assert threads.working.acquire(blocking=False)  # type: ignore[attr-defined]
            threads.working.release()  # type: ignore[attr-defined]
        assert not threads.working.acquire(blocking=False)  # type: ignore[attr-defined]


def test_another_instant_is_expensive_on_each_page_of_readers() -> None:
    for path, expected in (("/en/?at=2030-01-01T07:00", True), ("/en/?at=", False), ("/admin/?at=2030-01-01", False)):
        request = RequestFactory().get(path)
        request.resolver_match = resolve(request.path_info)
        assert is_expensive(request) is expected, path
