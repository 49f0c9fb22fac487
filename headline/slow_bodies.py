"""Waits for bodies of requests before these are worked on: some proxies, such as Caddy, pass them on as they come.

Without it, eight strangers who send a form without its body would occupy all threads that serve pages, and six those of
the newsroom. Larger bodies are refused unread, or of users who are signed in.
"""

from __future__ import annotations

import selectors
import ssl
import threading
import time
from collections.abc import Iterable
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any

from articles.limits import ENDED_SESSION_BODY, SMALL_BODY
from headline.admission import OF_STAFF

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

AT_ONCE = 8
"""Bodies that are awaited at once, each in a thread that `gunicorn.conf.py` adds for that; others get 503."""

LONGEST = 20.0  # seconds, and one for each `_A_SECOND`
_A_SECOND = 10_000  # bytes


class SlowBodiesMiddleware:
    """WSGI middleware that passes requests on once their bodies are complete, or answers 408."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        is_from_socket = "gunicorn.socket" in environ and environ["SERVER_PROTOCOL"].startswith("HTTP/1")
        length = int(environ.get("CONTENT_LENGTH") or 0) if is_from_socket else 0  # which gunicorn has checked
        largest = ENDED_SESSION_BODY if environ.get("PATH_INFO", "").startswith(OF_STAFF) else SMALL_BODY
        refused = self._receive(environ, length) if 0 < length <= largest else None
        if refused is None:
            return self._application(environ, start_response)
        start_response(f"{refused.value} {refused.phrase}", [("Content-Length", "0"), ("Retry-After", "1")])
        return []

    def _receive(self, environ: WSGIEnvironment, length: int) -> HTTPStatus | None:
        """Replace the stream by the body; the status to refuse with if it does not come."""
        socket: Any = environ["gunicorn.socket"]
        socket.setblocking(False)
        try:
            body = _arrived(environ, length)
            if body is None:
                if not self._places.acquire(blocking=False):
                    return HTTPStatus.SERVICE_UNAVAILABLE
                try:
                    body = _awaited(environ, length, socket)
                finally:
                    self._places.release()
        finally:
            socket.setblocking(True)
        if body is None:
            return HTTPStatus.REQUEST_TIMEOUT
        environ["wsgi.input"] = BytesIO(body)
        return None


def _awaited(environ: WSGIEnvironment, length: int, socket: Any) -> bytes | None:
    end = time.monotonic() + LONGEST + length / _A_SECOND
    with selectors.DefaultSelector() as selector:
        selector.register(socket, selectors.EVENT_READ)
        while (left := end - time.monotonic()) > 0:
            if selector.select(left) and (body := _arrived(environ, length)) is not None:
                return body
    return None


def _arrived(environ: WSGIEnvironment, length: int) -> bytes | None:
    """The body if it is complete, or if its sender is gone; what has come of another stays in gunicorn's buffers."""
    stream: Any = environ["wsgi.input"]
    try:
        body: bytes = stream.read(length)
    except (BlockingIOError, ssl.SSLWantReadError):
        return None
    stream.failed = False  # the connection may serve another request
    return body
