"""Bodies that come slowly, or never, occupy nothing that other requests need."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

import pytest
from gunicorn.http.body import Body, LengthReader  # type: ignore[import-untyped]
from gunicorn.http.unreader import SocketUnreader  # type: ignore[import-untyped]

from articles.limits import SMALL_BODY
from headline import slow_bodies
from headline.admission import WAITING
from headline.slow_bodies import AT_ONCE, STAYING, SlowBodiesMiddleware
from tests.conftest import Site
from tests.harness import PATIENCE
from tests.headline.test_admission import _status

Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """The client's and the server's end of a connection."""
    with (ends := socket.socketpair())[0], ends[1]:
        yield ends


class Server:
    """The middleware, and what it has passed on."""

    def __init__(self) -> None:
        self.statuses: list[str] = []
        self.streams: list[Any] = []
        self.middleware: Any = SlowBodiesMiddleware(self._application)

    def _application(self, environ: dict[str, Any], _start_response: Any) -> list[bytes]:
        self.streams.append(environ["wsgi.input"])
        return []

    def ask(self, end: socket.socket, length: int) -> Any:
        """The stream of a request with a body of this length; as gunicorn does, from this end of a connection."""
        stream = Body(LengthReader(SocketUnreader(end), length))
        environ = {"CONTENT_LENGTH": str(length), "PATH_INFO": "/", "wsgi.input": stream, "gunicorn.socket": end}
        environ["SERVER_PROTOCOL"] = "HTTP/1.1"
        self.middleware(environ, lambda status, _headers: self.statuses.append(status))
        assert end.getblocking()
        return stream


def test_a_body_is_read_before_its_request_is_passed_on(pair: Pair) -> None:
    (client, end), server = pair, Server()
    client.sendall(b"abc")
    assert server.ask(end, 3).failed is False
    assert [stream.read() for stream in server.streams] == [b"abc"]


def test_a_body_that_comes_in_parts_is_whole(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    (client, end), server = pair, Server()
    client.sendall(b"ab")
    awaited = slow_bodies._awaited

    def send_the_rest(*arguments: Any) -> bytes | None:
        client.sendall(b"c")
        return awaited(*arguments)

    monkeypatch.setattr(slow_bodies, "_awaited", send_the_rest)
    assert server.ask(end, 3).failed is False
    assert [stream.read() for stream in server.streams] == [b"abc"]


def test_a_body_that_does_not_come_is_refused_and_its_place_is_free_again(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_bodies, "LONGEST", 0.01)
    (client, end), server = pair, Server()
    for _number in range(AT_ONCE + 1):
        client.sendall(b"ab")
        server.ask(end, 3)
    assert server.statuses == ["408 Request Timeout"] * (AT_ONCE + 1)


def test_no_more_wait_than_there_are_threads_for() -> None:
    places = slow_bodies._Places()
    with ExitStack() as waiting:
        taken = [waiting.enter_context(places.taken("")) for _number in range(AT_ONCE + 1)]
        assert [one and one.is_ended for one in taken] == [*[True] * (AT_ONCE - STAYING), *[False] * STAYING, None]
    with places.taken("") as place:
        assert place is not None and not place.is_ended


def test_who_asks_again_and_again_ends_no_wait_of_others() -> None:
    places = slow_bodies._Places()
    with ExitStack() as waiting, places.taken("192.0.2.1") as first, places.taken("192.0.2.2") as second:
        for _number in range(AT_ONCE - 2):
            waiting.enter_context(places.taken("203.0.113.9"))
        assert first and second and not (first.is_ended or second.is_ended)


def test_what_a_client_sent_before_it_went_is_not_taken_for_the_whole_body(pair: Pair) -> None:
    (client, end), server = pair, Server()
    client.sendall(b"ab")
    client.close()
    server.ask(end, 3)
    assert (server.statuses, server.streams) == (["400 Bad Request"], [])


def test_a_larger_body_is_read_by_its_request(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_bodies, "LONGEST", 0.01)
    monkeypatch.setattr(slow_bodies, "_A_SECOND", 1_000_000)
    (client, end), server = pair, Server()
    server.ask(end, SMALL_BODY + 1)
    client.sendall(b"abc\n" + bytes(2_000))
    (stream,) = server.streams
    assert stream.readline() == b"abc\n"
    with pytest.raises(TimeoutError):
        stream.read(4_000)
    client.close()
    with pytest.raises(ConnectionAbortedError):
        stream.read(4_000)


def test_bodies_that_will_be_refused_and_those_of_other_servers_are_not_read(pair: Pair) -> None:
    (client, end), server = pair, Server()
    server.ask(end, SMALL_BODY + 1)
    client.sendall(b"abc")
    assert end.recv(3) == b"abc"
    stream = BytesIO(b"abc")
    server.middleware({"CONTENT_LENGTH": "unchecked", "wsgi.input": stream}, lambda *_arguments: None)
    assert server.streams[1] is stream


@pytest.mark.django_db(transaction=True)
def test_strangers_who_send_forms_without_bodies_stop_neither_pages_nor_the_newsroom(site: Site) -> None:
    # More than there are threads for pages, and turns in the newsroom.
    clients = [_without_body(site, path) for path in ["/admin/login/"] * (STAYING // 2)]
    try:
        for _number in range(2 * AT_ONCE):
            clients.append(_without_body(site, "/i18n/setlang/"))
            if len(clients) > STAYING:  # one goes, so that another one may come
                (ended,), _writable, _broken = select.select(clients, [], [], PATIENCE)
                assert b" 408 " in ended.recv(100)
                clients.remove(ended)
                ended.close()
        for path in ("/healthz", "/en/", "/admin/login/"):
            assert _status(site, path) == 200
        assert select.select(clients, [], [], 0)[0] == []
        clients[-1].sendall(b"language=e")
        assert b" 302 " in clients[-1].recv(100)
    finally:
        for client in clients:
            client.close()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("head", [f"Content-Length: {SMALL_BODY + 1}", "Transfer-Encoding: chunked"])
def test_strangers_whose_bodies_are_not_read_hold_up_no_others(site: Site, head: str) -> None:
    url = urlsplit(site.url)
    with ExitStack() as staying:
        # More than there are threads in which gunicorn would wait for five seconds for each of these bodies.
        for _number in range(2 * (WAITING + AT_ONCE)):
            client = staying.enter_context(socket.create_connection((str(url.hostname), url.port or 0), PATIENCE))
            client.sendall(f"POST /i18n/setlang/ HTTP/1.1\r\nHost: {url.netloc}\r\n{head}\r\n\r\n".encode())
        began = time.monotonic()
        assert _status(site, "/healthz") == 200
        assert time.monotonic() - began < 4
        assert b" 41" in client.recv(100)


def test_a_connection_serves_no_other_request_before_its_body_was_read(pair: Pair) -> None:
    (client, end), server = pair, Server()
    client.sendall(bytes(SMALL_BODY + 1))
    unread = server.ask(end, SMALL_BODY + 1)
    assert unread.failed
    (stream,) = server.streams
    stream.read(SMALL_BODY)
    assert unread.failed
    stream.read(1)
    assert not unread.failed


@pytest.mark.django_db(transaction=True)
def test_clients_that_stay_after_their_answers_hold_up_no_others(site: Site) -> None:
    url, began = urlsplit(site.url), time.monotonic()
    with ExitStack() as staying:
        for _number in range(5):
            client = staying.enter_context(socket.create_connection((str(url.hostname), url.port or 0), PATIENCE))
            client.sendall(f"GET /healthz HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: close\r\n\r\n".encode())
            assert b" 200 " in client.recv(100)
        assert _status(site, "/healthz") == 200
        assert time.monotonic() - began < 8  # gunicorn waits two seconds for each to go


def _without_body(site: Site, path: str) -> socket.socket:
    """A connection with a form whose body is missing."""
    url = urlsplit(site.url)
    sent = socket.create_connection((str(url.hostname), url.port or 0), PATIENCE)
    head = [f"Host: {url.netloc}", "Cookie: csrftoken=" + "a" * 32, "Content-Type: application/x-www-form-urlencoded"]
    sent.sendall("\r\n".join([f"POST {path} HTTP/1.1", *head, "Content-Length: 10", "", ""]).encode())
    return sent
