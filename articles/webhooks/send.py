"""Sending one webhook over HTTP: pinned to a checked address, with limits of time and size, without redirects."""

from __future__ import annotations

import io
import socket
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from select import POLLIN, poll
from typing import Any

from articles.limits import WEBHOOK_ANSWER_LENGTH
from articles.outgoing import Ends, Resolved, connect
from articles.webhooks.target import Target, TargetRefused, addresses

CONNECT, ANSWER = 3.0, 10.0
"""Seconds for the connection, and for the whole answer."""
_MOST_READ = 64 * 1024
_MOST_SENT = 4 * _MOST_READ  # with headers and trailers, which would take a worker's processor while they come
_MOST_TRIED = 3  # addresses of a name, so that an attempt ends before the lease
_AGENT = "Headline-Webhooks/1"


@dataclass(frozen=True)
class Reply:
    """What came back, or the error."""

    ms: int
    code: int | None = None
    text: str = ""
    error: str = ""
    retry_after: float | None = None  #: seconds
    is_unsent: bool = False  #: the error came before anything was sent

    @property
    def is_success(self) -> bool:
        """Whether the receiver has it."""
        return not self.error and self.code is not None and 200 <= self.code < 300


class AnswerTooLong(OSError):
    """A receiver sends headers, interim answers or trailers without end."""


class _Bounded(io.RawIOBase):
    """What a receiver sends in one answer. Raises `AnswerTooLong`."""

    def __init__(self, connected: socket.socket) -> None:
        super().__init__()
        self._raw = connected.makefile("rb", buffering=0)
        self._left = _MOST_SENT

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read some bytes."""
        count: int | None = self._raw.readinto(buffer)
        self._left -= count or 0
        if self._left < 0:
            raise AnswerTooLong
        return count

    def close(self) -> None:
        """Close it; the connection stays open."""
        self._raw.close()
        super().close()


class _FinalResponse(HTTPResponse):
    """The final answer to a request: http.client takes 102 and 103 for one, and the real one for that of the next."""

    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp.close()
        self.fp = io.BufferedReader(_Bounded(sock))

    def begin(self) -> None:
        """Read until the headers of the final answer."""
        super().begin()
        while self.status < HTTPStatus.OK and self.status != HTTPStatus.SWITCHING_PROTOCOLS:
            self.headers = self.msg = None  # type: ignore[assignment]
            super().begin()


class PinnedConnection:
    """A connection to an endpoint, used again while it lasts; for one thread at a time."""

    def __init__(self, target: Target, *, repeats: bool = True) -> None:
        """Without `repeats`, nothing is sent twice, even if an open connection ends without an answer."""
        self._target = target
        self._repeats = repeats
        self._has_sent = False
        self._connection: HTTPConnection | None = None
        self._twin: socket.socket | None = None  # of the same connection, which TLS does not wrap

    def post(self, body: str | bytes, headers: Mapping[str, str], *, path: str = "") -> Reply:
        """Send a body, and return the answer; it never raises what a receiver can cause.

        `path` is another one of the same host.
        """
        began, self._has_sent = time.monotonic(), False
        if self._is_ended():
            self.close()
        was_open = self._connection is not None
        data = body.encode() if isinstance(body, str) else body
        try:
            try:
                return self._post(data, headers, began, path or self._target.path)
            except (ConnectionError, HTTPException):
                if not (was_open and self._repeats):
                    raise
                self.close()  # the receiver has closed what was open for a while
                return self._post(data, headers, began, path or self._target.path)
        except TargetRefused as refusal:
            return self._failed(began, f"refused: {refusal.code}")
        except ssl.SSLError as error:
            return self._failed(began, f"TLS: {getattr(error, 'verify_message', '') or error.reason}")
        except TimeoutError:
            return self._failed(began, "timeout")
        except (OSError, HTTPException, UnicodeError, ValueError) as error:
            is_late = time.monotonic() - began >= CONNECT + ANSWER
            return self._failed(began, "timeout" if is_late else f"{type(error).__name__}: {error}".rstrip(": "))

    def _failed(self, began: float, error: str) -> Reply:
        self.close()
        return Reply(_since(began), error=error[:200], is_unsent=not self._has_sent)

    def _is_ended(self) -> bool:
        """Whether something can be read before the next request: the end, or what is no answer to it."""
        if self._twin is None:
            return False
        waiting = poll()
        waiting.register(self._twin, POLLIN)
        return bool(waiting.poll(0))

    def _post(self, body: bytes, headers: Mapping[str, str], began: float, path: str) -> Reply:
        ends = Ends(began + CONNECT + ANSWER)
        connection = self._connection or self._new()
        try:
            if connection.sock is None:
                connection.connect()
            if self._twin is not None:
                ends.watch(self._twin)
            if connection.sock is not None:
                connection.sock.settimeout(ANSWER)
            content = {"Content-Type": "application/json", "User-Agent": _AGENT, "Host": self._target.host_header}
            self._has_sent = True
            connection.request("POST", path, body, {**content, **headers})
            with connection.getresponse() as response:
                answer = self._answer(response, began)
        finally:
            ends.cancel()
        if time.monotonic() >= began + CONNECT + ANSWER:  # it was shut down, which looks like an end
            raise TimeoutError
        return answer

    def _answer(self, response: HTTPResponse, began: float) -> Reply:
        data = bytearray()
        while len(data) < _MOST_READ and (chunk := response.read1(_MOST_READ - len(data))):
            data += chunk
        is_whole = response.length == 0 or response.isclosed()  # `read1` does not close an answer of a given length
        is_other = response.status == HTTPStatus.SWITCHING_PROTOCOLS  # what follows is not HTTP
        if response.will_close or not is_whole or is_other:  # there is more, which is not read
            self.close()
        text = data[: 4 * WEBHOOK_ANSWER_LENGTH].decode("utf-8", errors="replace").replace("\x00", "")
        wait = _seconds(response.headers.get("Retry-After", ""))
        return Reply(_since(began), response.status, text[:WEBHOOK_ANSWER_LENGTH], retry_after=wait)

    def _new(self) -> HTTPConnection:
        pinned = addresses(self._target)
        place: tuple[str, int] = self._target.host, self._target.port
        connection: Any = (
            HTTPSConnection(*place, timeout=CONNECT, context=ssl.create_default_context())
            if self._target.scheme == "https"
            else HTTPConnection(*place, timeout=CONNECT)
        )
        connection._create_connection = partial(self._connect, pinned)
        connection.response_class = _FinalResponse
        self._connection = connection
        return connection  # type: ignore[no-any-return]

    def _connect(self, pinned: list[Resolved], *_place: Any) -> socket.socket:
        connected = connect(pinned[:_MOST_TRIED], CONNECT)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._twin = connected.dup()
        return connected

    def close(self) -> None:
        """Close the connection."""
        for one in (self._connection, self._twin):
            if one is not None:
                with suppress(OSError):
                    one.close()
        self._connection = self._twin = None


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _seconds(value: str) -> float | None:
    """The seconds of a Retry-After header."""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    with suppress(ValueError, TypeError, OverflowError, IndexError):
        moment = parsedate_to_datetime(value)
        return max(0.0, (moment.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    return None
