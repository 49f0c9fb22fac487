"""Reports to Sentry and traces: off by default, refused without their packages, without personal data and secrets."""

from __future__ import annotations

import gzip
import os
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from headline import telemetry
from headline.env import WrongEnvironment
from tests.harness import PATIENCE, run_python

SECRET = "c3p1-a-secret-that-no-report-contains"
CONTENT = "ferry-sinks-off-kos"


class Receiver(BaseHTTPRequestHandler):
    """Stores what is posted, by path."""

    received: list[tuple[str, str]] = []

    def do_POST(self) -> None:  # noqa: N802 (the name in the standard library)
        """Accept anything."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
        self.received.append((self.path, body.decode(errors="replace")))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Print nothing."""


@pytest.fixture
def receiver() -> Iterator[str]:
    """The address of a server that stands for Sentry and for a collector."""
    Receiver.received.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def _no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(telemetry, "import_module", missing)


@pytest.mark.usefixtures("_no_packages")
def test_nothing_is_imported_by_default() -> None:
    telemetry.start_sentry("")
    telemetry.start_tracing("")


@pytest.mark.usefixtures("_no_packages")
@pytest.mark.parametrize(
    ("start", "fault"),
    [
        (
            telemetry.start_sentry,
            "SENTRY_DSN needs packages that are not installed .sentry_sdk.: install requirements-",
        ),
        (telemetry.start_tracing, "OTEL_EXPORTER_OTLP_ENDPOINT needs packages that are not installed .opentelemetry"),
    ],
)
def test_a_missing_package_is_named(start: Callable[[str], None], fault: str) -> None:
    with pytest.raises(WrongEnvironment, match=fault):
        start("http://key@127.0.0.1:9/1")


def test_receivers_that_do_not_respond_delay_no_exit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        settings = {"DJANGO_ALLOWED_HOSTS": "testserver", "DJANGO_SETTINGS_MODULE": "tests.settings"}
        given = {"SENTRY_DSN": f"http://key@{address}/1", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{address}"}
        patience = {"OTEL_EXPORTER_OTLP_TIMEOUT": "600"}
        env = {**os.environ, **settings, **given, **patience}
        done = run_python("-m", "tests.headline.failing_views", SECRET, CONTENT, env=env, timeout=PATIENCE)
    assert done.stdout.splitlines()[-1:] == ["200 OK"], done.stdout + done.stderr


def test_reports_and_traces_have_no_personal_data_and_no_secrets(receiver: str) -> None:
    settings = {"DJANGO_ALLOWED_HOSTS": "testserver", "DJANGO_SETTINGS_MODULE": "tests.settings"}
    given = {"SENTRY_DSN": f"http://{SECRET}@{receiver}/1", "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{receiver}"}
    done = run_python("-m", "tests.headline.failing_views", SECRET, CONTENT, env={**os.environ, **settings, **given})
    assert done.stdout.splitlines()[-1:] == ["200 OK"], done.stdout + done.stderr
    assert {path for path, _ in Receiver.received} == {"/api/1/envelope/", "/v1/traces"}
    reports, traces = ("".join(body for path, body in Receiver.received if end in path) for end in ("api", "traces"))
    assert all(text in reports for text in ("this view fails", "cannot connect to mysql", "an-id-of-the-proxy"))
    assert all(text in traces for text in ("preview/<str:token>/", "article/12/", "an-id-of-the-proxy"))
    for hidden in (SECRET, CONTENT, "203.0.113.77"):
        assert hidden not in reports + traces
