"""A push service on this machine, with browsers that decrypt what it takes."""

from __future__ import annotations

import json
import threading
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import http_ece
import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from articles.push.dispatch import due_pushes, serve, take
from articles.push.keys import encode
from articles.push.plan import plan
from scheduling.registry import Ending

AUTH = b"sixteen bytes ok"


@dataclass
class Browser:
    """One browser with its subscription at a service."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def subscription(self) -> dict[str, Any]:
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {"endpoint": self.endpoint, "keys": {"p256dh": encode(point), "auth": encode(AUTH)}}

    def read(self, body: bytes) -> Any:
        return json.loads(http_ece.decrypt(body, private_key=self.key, auth_secret=AUTH))


@dataclass
class PushService:
    """What came in, and what is answered: a status for each path, or a function of the handler."""

    url: str = ""
    answer: int | Callable[[Any], None] = 201
    answers: dict[str, int] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    def browser(self, name: str) -> Browser:
        return Browser(f"{self.url}/{name}")

    @property
    def paths(self) -> list[str]:
        return [path for path, _headers, _body in self.requests]


def push_due() -> None:
    """Send all that is due now."""
    plan()
    for pk in due_pushes():
        if push := take(pk):
            serve(push, Ending())


def claims_of(authorization: str) -> tuple[dict[str, Any], str]:
    """The claims of a header, verified by the key that it names, and that key."""
    scheme, _space, rest = authorization.partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    point = urlsafe_b64decode(parts["k"] + "=")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    audience = jwt.decode(parts["t"], options={"verify_signature": False})["aud"]
    return jwt.decode(parts["t"], key, algorithms=["ES256"], audience=audience), parts["k"]


@contextmanager
def serving(settings: Any) -> Iterator[PushService]:
    """A push service that the settings allow."""
    service = PushService()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:  # noqa: N802 (the base's name)
            body = self.rfile.read(int(self.headers["Content-Length"]))
            service.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            if callable(service.answer):
                service.answer(self)
                return
            self.send_response(service.answers.get(self.path, service.answer))
            for name, value in service.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}"
        settings.PUSH_HOSTS = [f"127.0.0.1:{server.server_port}"]
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield service
        server.shutdown()
