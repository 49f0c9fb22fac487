"""Receivers of webhooks: servers on this machine that answer as they are told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from articles.distribution import catch_up
from articles.models import Endpoint
from articles.webhooks.dispatch import due_endpoints, serve, take
from articles.webhooks.signing import new_secret
from articles.webhooks.sinks import fill, is_behind
from scheduling.registry import Ending


@dataclass
class Receiver:
    """What came in, and what is answered: a status, or a function of the handler that answers by itself."""

    port: int = 0
    answer: int | Callable[[Any], None] = 200
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[dict[str, str], str]] = field(default_factory=list)
    connections: set[int] = field(default_factory=set)  #: the ports from which requests came

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=1"

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _headers, body in self.requests]

    @property
    def kinds(self) -> list[str]:
        return [body["type"] for body in self.bodies]

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _body in self.requests]


@contextmanager
def receiving(settings: Any, *, port: int = 0) -> Iterator[Receiver]:
    """A receiver that the settings allow."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # noqa: N802 (the base's name)
            length = int(self.headers["Content-Length"])
            body = self.rfile.read(length).decode()
            if len(body.encode()) < length:
                return  # its sender, a killed process, has not sent all
            receiver.connections.add(self.client_address[1])
            receiver.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
            if callable(receiver.answer):
                receiver.answer(self)
                return
            self.send_response(receiver.answer)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        receiver.port = server.server_port
        settings.WEBHOOK_ALLOWED_HOSTS = [f"127.0.0.1:{receiver.port}"]
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield receiver
        server.shutdown()


def drain() -> None:
    """Send all that is due now, in this thread."""
    sequence = catch_up().sequence
    if is_behind(sequence):
        fill(Ending())
    for pk, _is_failing in list(due_endpoints(sequence)):
        if endpoint := take(pk):
            serve(endpoint, Ending())


def make_endpoint(url: str, **values: Any) -> Endpoint:
    """A webhook, without the checks of the service."""
    return Endpoint.objects.create(url=url, **{"secret": new_secret(), **values})
