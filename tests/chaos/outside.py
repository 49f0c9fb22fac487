"""The world outside: a mail server, a CDN and a receiver of webhooks, which write what they get into the history."""

from __future__ import annotations

import json
import threading
import time
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import StreamRequestHandler, ThreadingTCPServer
from types import TracebackType
from typing import Any, Self

from tests.chaos.history import History, Mailed, Purged, Received, now
from tests.chaos.marks import MARK

_HOST = "127.0.0.1"


class Outside:
    """These servers, on ports of their own; a context manager."""

    def __init__(
        self, history: History, *, has_cdn: bool = True, has_receiver: bool = True, address: str = _HOST
    ) -> None:
        """`address` is where the hosts of the system reach them."""
        self.history = history
        self._address = address
        self._has_cdn = has_cdn
        self._has_receiver = has_receiver
        self.refuses_mails = self.refuses_purges = self.refuses_webhooks = False
        self.mail_takes = self.purge_takes = 0.0  #: seconds from receiving one to the response
        self._mail = _MailServer((address, 0), _handler(_Mail, self))
        self._cdn = _Server((address, 0), _handler(_Purge, self))
        self._receiver = _Server((address, 0), _handler(_Webhook, self))
        self._servers = (self._mail, self._cdn, self._receiver)

    def __enter__(self) -> Self:
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        if self._has_cdn:
            self.history.add(Purged(began=now(), ended=now(), keys=()))
        if self._has_receiver:
            self.history.add(Received(began=now(), ended=now()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make Headline use them."""
        cdn = {"CDN_PURGE_URLS": f"http://{self._address}:{self._cdn.server_address[1]}/"} if self._has_cdn else {}
        return {
            "EMAIL_URL": f"smtp://{self._address}:{self._mail.server_address[1]}",
            "WEBHOOK_ALLOWED_HOSTS": f"{self._address}:{self._receiver.server_address[1]}",
            **cdn,
        }

    @property
    def webhook(self) -> str:
        """The URL of the receiver; "" without one."""
        return f"http://{self._address}:{self._receiver.server_address[1]}/" if self._has_receiver else ""


def _handler(kind: type[Any], outside: Outside) -> type[Any]:
    return type(kind.__name__, (kind,), {"outside": outside})


class _Mail(StreamRequestHandler):
    """As much of SMTP as a client without extensions needs."""

    outside: Outside

    def handle(self) -> None:
        if self.outside.refuses_mails:
            return self._respond("421 not now")
        self._respond("220 ready")
        while command := self.rfile.readline()[:4].strip().upper():
            match command:
                case b"DATA":
                    self._respond("354 go on")
                    self._receive()
                    self._respond("250 sent")
                case b"QUIT":
                    return self._respond("221 bye")
                case _:
                    self._respond("250 yes")
        return None

    def _receive(self) -> None:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line)
        if line:
            moment, message = now(), BytesParser().parsebytes(b"".join(lines))
            self.outside.history.add(Mailed(began=moment, ended=moment, message=str(message["Message-ID"])))
            time.sleep(self.outside.mail_takes)

    def _respond(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class _Purge(BaseHTTPRequestHandler):
    """A CDN that purges by surrogate keys."""

    outside: Outside

    def do_PURGE(self) -> None:  # noqa: N802 (the method's name)
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        if not self.outside.refuses_purges:
            moment, keys = now(), str(self.headers["Surrogate-Key"]).split()
            self.outside.history.add(Purged(began=moment, ended=moment, keys=keys))
            time.sleep(self.outside.purge_takes)
        self.send_response(503 if self.outside.refuses_purges else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


class _Webhook(BaseHTTPRequestHandler):
    """A receiver of webhooks, which keeps its connections."""

    outside: Outside
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # noqa: N802 (the method's name)
        length, began = int(self.headers["Content-Length"] or 0), now()
        body = self.rfile.read(length)
        if len(body) < length:
            return  # its sender ended before it had sent all
        said, status = json.loads(body), 503 if self.outside.refuses_webhooks else 200
        mark = MARK.search(said["data"].get("article", {}).get("title", ""))
        self.outside.history.add(
            Received(
                began=began, ended=now(), message=self.headers["webhook-id"], kind=said["type"],
                object=said["data"]["object"], state=said["data"].get("state", ""),
                text=int(mark[2]) if mark else None, status=status,
            )
        )  # fmt: skip
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""


class _MailServer(ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore it: the process that sent the mail was killed."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore it: the process that sent the request was killed."""
