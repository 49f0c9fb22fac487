"""Images by address: fetched from public addresses, and never from what only this server can reach."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from typing import Any

import pytest
from rest_framework.test import APIClient

from articles.images import fetch
from articles.images.fetch import AddressRefused, NotFetched
from articles.models import Image
from articles.outgoing import Ends
from tests.articles.factories import make_editor, make_user
from tests.articles.image_files import image_bytes
from tests.harness import PATIENCE

PRIVATE = (
    "http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://0/", "http://0x7f.1/", "http://2130706433/",
    "http://10.0.0.1/", "http://169.254.169.254/latest/", "http://[::ffff:10.0.0.1]/", "http://[64:ff9b::a00:1]/",
    "http://[2002:a00:1::]/", "http://[fe80::1]/", "http://[fd00::1]/", "http://224.0.0.1/", "http://1.1.1.1:22/",
    "file:///etc/passwd", "ftp://1.1.1.1/", "http://user:secret@1.1.1.1/", "http:///x", "http://[x/", "http://1.1.1.1:0/",
    "//1.1.1.1/", "",
)  # fmt: skip

IMAGE = image_bytes()


class Answers(BaseHTTPRequestHandler):
    """Answers by path."""

    def do_GET(self) -> None:  # noqa: N802 (the base's name)
        targets = {"/away": "http://127.0.0.2/", "/again": "/again", "/file": "file:///etc/passwd", "/near": "/a.png"}
        target = targets.get(self.path)
        self.send_response(404 if self.path == "/none" else 302 if target else 200)
        if target:
            self.send_header("Location", target)
        self.send_header("Content-Length", str(len(IMAGE) + (self.path == "/short")))
        self.end_headers()
        self.wfile.write(IMAGE)

    def log_message(self, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def server(settings: Any) -> Iterator[str]:
    settings.FETCH_NETWORKS = [ip_network("127.0.0.1/32")]
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as running:
        threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_nothing_private_is_asked() -> None:
    for address in PRIVATE:
        with pytest.raises(AddressRefused):
            fetch(address, most=1000)


def test_a_file_is_fetched_also_after_a_redirect(server: str) -> None:
    for path in ("/a.png", "/near"):
        file = fetch(server + path, most=len(IMAGE))
        assert (file.read(), file.name) == (IMAGE, "a.png")


def test_redirects_are_checked_and_sizes_limited(server: str) -> None:
    for path in ("/away", "/file"):
        with pytest.raises(AddressRefused):
            fetch(server + path, most=len(IMAGE))
    for path, most in (("/again", 10**6), ("/none", 10**6), ("/short", 10**6), ("/a.png", len(IMAGE) - 1)):
        with pytest.raises(NotFetched):
            fetch(server + path, most=most)


def test_a_host_that_sends_a_byte_now_and_then_holds_no_thread(settings: Any) -> None:
    settings.FETCH_NETWORKS = [ip_network("127.0.0.1/32")]
    stop = threading.Event()

    def drip() -> None:
        connected, _address = listening.accept()
        with connected:
            connected.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while not stop.wait(0.05):
                try:
                    connected.sendall(b"x")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        with pytest.raises(NotFetched):
            fetch(f"http://127.0.0.1:{listening.getsockname()[1]}/", most=1000, within=0.3)
        stop.set()
        thread.join()


def test_a_clock_that_was_moved_keeps_no_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    was_asked = threading.Event()

    def an_hour_ago() -> float:
        if threading.current_thread().name == "ends of connections":
            was_asked.set()
        return began - 3600

    began = time.monotonic()
    with ExitStack() as stack:
        first, second = (list(map(stack.enter_context, socket.socketpair())) for _ in range(2))
        with monkeypatch.context() as moved:
            moved.setattr("time.monotonic", an_hour_ago)
            (early := Ends(began - 3000)).watch(first[0])
            assert was_asked.wait(PATIENCE)
        (ends := Ends(time.monotonic() + 0.1)).watch(second[0])
        second[0].settimeout(PATIENCE)
        assert second[0].recv(1) == b""
        early.cancel()
        ends.cancel()


@pytest.mark.django_db
def test_a_program_adds_an_image_by_its_address(server: str) -> None:
    client, url, asked = APIClient(), "/api/v1/desk/images/fetch/", {"address": f"{server}/a.png", "alt": "Ships"}
    client.force_authenticate(make_user("reader", "view_image"))
    assert client.post(url, asked).status_code == 403
    client.force_authenticate(make_editor())
    assert [client.post(url, asked).status_code for _ in range(2)] == [201, 200]
    assert (Image.objects.get().alt, Image.objects.get().title) == ("Ships", "a")
    refused = client.post(url, {**asked, "address": "http://127.0.0.2/"})
    assert (refused.status_code, refused.json()["code"]) == (400, "address_refused")
