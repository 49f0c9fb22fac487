"""Waits for bodies of requests before these are worked on: some proxies, such as Caddy, pass them on as they come.

Without it, eight strangers who send a form without its body would occupy all threads that serve pages, and six those of
the newsroom. Larger bodies are refused unread, or of users who are signed in: those are read when their requests are
worked on, in no more time and to no earlier end.
"""

from __future__ import annotations

import selectors
import ssl
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from io import BytesIO, IOBase
from socket import socketpair
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest

from articles.limits import ENDED_SESSION_BODY, SMALL_BODY
from headline.accounts.address import address_of
from headline.admission import OF_STAFF

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

AT_ONCE = 8
"""Bodies that are awaited at once, each in a thread that `gunicorn.conf.py` adds for that; others get 503."""

STAYING = 6
"""Those of them that stay. Another one ends a wait, with 408: otherwise six who never send theirs would keep everyone
else from logging in. It is the first of the address that has most of them, so that who asks again and again ends only
waits of their own."""

LONGEST = 20.0  # seconds, and one for each `_A_SECOND`
_A_SECOND = 10_000  # bytes


class SlowBodiesMiddleware:
    """WSGI middleware that passes requests on once their bodies are complete, or answers 408."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._places = _Places()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        is_from_socket = "gunicorn.socket" in environ and environ["SERVER_PROTOCOL"].startswith("HTTP/1")
        length = int(environ.get("CONTENT_LENGTH") or 0) if is_from_socket else 0  # which gunicorn has checked
        largest = ENDED_SESSION_BODY if environ.get("PATH_INFO", "").startswith(OF_STAFF) else SMALL_BODY
        if is_from_socket and (length > largest or "HTTP_TRANSFER_ENCODING" in environ):
            # Unless it is read to its end, the connection is closed: gunicorn would wait for the rest, in this thread.
            environ["wsgi.input"].failed = True
        if length > largest:
            environ["wsgi.input"] = _LargerBody(environ["wsgi.input"], length, environ["gunicorn.socket"])
        refused = self._receive(environ, length) if 0 < length <= largest else None
        if refused is None:
            return self._application(environ, start_response)
        start_response(f"{refused.value} {refused.phrase}", [("Content-Length", "0"), ("Retry-After", "1")])
        return []

    def _receive(self, environ: WSGIEnvironment, length: int) -> HTTPStatus | None:
        """Replace the stream by the body; the status to refuse with if it does not come."""
        stream: Any = environ["wsgi.input"]
        with _without_blocking(environ["gunicorn.socket"]) as socket:
            body = _arrived(stream, length)
            if body is None:
                with self._places.taken(_address(environ)) as place:
                    if place is None:
                        return HTTPStatus.SERVICE_UNAVAILABLE
                    body = _awaited(stream, length, socket, _end_of(length), place)
        if body is None:
            return HTTPStatus.REQUEST_TIMEOUT
        if len(body) < length:  # Django would take it for all of it, and store the beginning of a text
            return HTTPStatus.BAD_REQUEST
        environ["wsgi.input"] = BytesIO(body)
        return None


class _Place:
    """Of one that waits for a body from this address, until `end`, which wakes it; others are refused until it goes."""

    def __init__(self, address: str) -> None:
        self.address, self.is_ended = address, False
        self.woken, self._other = socketpair()

    def __enter__(self) -> _Place:
        return self

    def __exit__(self, *_error: object) -> None:
        self.woken.close()
        self._other.close()

    def end(self) -> None:
        self.is_ended = True
        self._other.close()  # the other end can be read


class _Places:
    """Of those that wait for bodies."""

    def __init__(self) -> None:
        self._lock, self._taken = threading.Lock(), 0
        self._staying: list[_Place] = []

    @contextmanager
    def taken(self, address: str) -> Iterator[_Place | None]:
        """A place during this block; None if there is none."""
        with _Place(address) as place:
            if not self._take(place):
                yield None
                return
            try:
                yield place
            finally:
                self._give_back(place)

    def _take(self, place: _Place) -> bool:
        with self._lock:
            if self._taken >= AT_ONCE:
                return False
            self._taken += 1
            self._staying.append(place)
            if len(self._staying) > STAYING:
                self._end_one()
            return True

    def _end_one(self) -> None:
        ((most, _count),) = Counter(place.address for place in self._staying).most_common(1)
        first = next(place for place in self._staying if place.address == most)
        self._staying.remove(first)
        first.end()

    def _give_back(self, place: _Place) -> None:
        with self._lock:
            self._taken -= 1
            if place in self._staying:
                self._staying.remove(place)


def _address(environ: WSGIEnvironment) -> str:
    request = HttpRequest()
    request.META = environ
    return address_of(request)


class _LargerBody(IOBase):
    """The stream of a body that is read while its request is worked on; it raises `OSError` if that does not come."""

    def __init__(self, stream: Any, length: int, socket: Any) -> None:
        self._stream, self._left, self._socket = stream, length, socket
        self._end = 0.0

    def read(self, size: int) -> bytes:
        """As many bytes as that, unless fewer are left."""
        size = min(size, self._left)
        self._end = self._end or _end_of(self._left)
        with _without_blocking(self._socket) as socket:
            part = _arrived(self._stream, size)
            if part is None:
                part = _awaited(self._stream, size, socket, self._end)
        if part is None:
            raise TimeoutError
        if len(part) < size:
            raise ConnectionAbortedError
        self._left -= size
        self._stream.failed = self._left > 0
        return part


@contextmanager
def _without_blocking(socket: Any) -> Iterator[Any]:
    socket.setblocking(False)
    try:
        yield socket
    finally:
        socket.setblocking(True)


def _end_of(length: int) -> float:
    return time.monotonic() + LONGEST + length / _A_SECOND


def _awaited(stream: Any, length: int, socket: Any, end: float, place: _Place | None = None) -> bytes | None:
    with selectors.DefaultSelector() as selector:
        selector.register(socket, selectors.EVENT_READ)
        if place is not None:
            selector.register(place.woken, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0 and not (place and place.is_ended):
            if selector.select(left) and (body := _arrived(stream, length)) is not None:
                return body
    return None


def _arrived(stream: Any, length: int) -> bytes | None:
    """The body if it is complete, or what came before its sender went; another one stays in gunicorn's buffers."""
    try:
        body: bytes = stream.read(length)
    except (BlockingIOError, ssl.SSLWantReadError):
        return None
    stream.failed = False  # the connection may serve another request
    return body
