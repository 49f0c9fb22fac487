"""Addresses of webhooks: nothing that only this server can reach, however it is spelled, now or at the connection."""

from __future__ import annotations

import socket
import threading
from ipaddress import ip_address
from typing import Any

import pytest

from articles import outgoing
from articles.outgoing import is_public
from articles.webhooks import TargetRefused, target
from articles.webhooks.send import PinnedConnection
from articles.webhooks.target import check, parse

INTERNAL = (
    "127.0.0.1", "127.1", "127.0.1", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "2130706433", "0", "0.0.0.0",
    "localhost", "localhost.", "LOCALHOST", "127.0.0.1.", "10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255",
    "192.168.0.1", "169.254.169.254", "169.254.1.1", "100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16",
    "198.18.0.1", "224.0.0.1", "239.255.255.255", "255.255.255.255", "240.0.0.1", "[::1]", "[::]", "[::127.0.0.1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:0:127.0.0.1]", "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]",
    "[64:ff9b::10.0.0.1]", "[64:ff9b:1::10.0.0.1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[2001:db8::1]",
    "[3fff::1]",
    "[fe80::1]", "[fe80::1%25lo]", "[fec0::1]", "[fd00::1]", "[fd00:ec2::254]", "[ff02::1]",
    "１２７.0.0.1", "①②⑦.0.0.1",
)  # fmt: skip
WRONG = (
    "", "hooks.example.org", "//hooks.example.org/", "ftp://hooks.example.org/", "file:///etc/passwd", "http://1.1.1.1/",
    "https://1.1.1.1:22/", "https://1.1.1.1:8443/", "https://1.1.1.1:0/", "https://1.1.1.1:99999/", "https://1.1.1.1:x/",
    "https://user@1.1.1.1/", "https://user:secret@1.1.1.1/", "https://@1.1.1.1/", "https://1.1.1.1/#here", "https://[x/",
    "https://1.1.1.1\\@127.0.0.1/", "https://1.1.1.1 /", "https://1.1.1.1/\r\nHost: x", "https:///x",
    "https://exa mple.org/", "https://1.1.1.1/" + "x" * 2000,
)  # fmt: skip


def test_fifty_spellings_of_internal_addresses_are_refused() -> None:
    assert len(INTERNAL) >= 50
    accepted = []
    for host in INTERNAL:
        try:
            check(f"https://{host}/hook")
        except TargetRefused:
            continue
        accepted.append(host)
    assert accepted == []


@pytest.mark.parametrize("url", WRONG)
def test_what_is_no_public_address_is_refused(url: str) -> None:
    with pytest.raises(TargetRefused):
        check(url)


def test_public_addresses_are_accepted(settings: Any) -> None:
    for url in ("https://1.1.1.1/hook", "https://1.1.1.1:443/", "https://[2606:4700:4700::1111]/hook?x=1"):
        assert check(url).port == 443
    settings.WEBHOOK_ALLOW_HTTP = True
    assert check("http://1.1.1.1/").port == 80
    with pytest.raises(TargetRefused):
        check("http://1.1.1.1:443/")


def test_internal_hosts_are_allowed_by_the_environment(settings: Any) -> None:
    settings.WEBHOOK_ALLOWED_HOSTS = ["127.0.0.1:8080", "localhost"]
    assert check("http://127.0.0.1:8080/").is_listed
    assert check("https://localhost:9/").is_listed
    for url in ("http://127.0.0.1:8081/", "https://127.0.0.1/", "http://127.0.0.2:8080/"):
        with pytest.raises(TargetRefused):
            check(url)


def test_a_name_that_resolves_to_another_address_later_is_not_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that answers first with a public and then with an internal address."""
    asked = []

    def rebinding(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        address = "1.1.1.1" if len(asked) == 1 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    connected: list[Any] = []
    monkeypatch.setattr(socket.socket, "connect", lambda _self, address: connected.append(address))
    chosen = check("https://rebinding.example/")
    answer = PinnedConnection(chosen).post("{}", {})
    assert (answer.error, connected) == ("refused: url_refused", [])
    assert asked == ["rebinding.example"] * 2


def test_a_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, connected = [], []

    def changing(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"1.1.1.{len(asked)}", port))]

    def refuse(_self: Any, address: Any) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", changing)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    answer = PinnedConnection(parse("https://hooks.example/")).post("{}", {})
    assert answer.error.startswith("ConnectionRefusedError")
    assert (asked, connected) == (["hooks.example"], [("1.1.1.1", 443)])


def test_a_name_with_one_internal_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in ("1.1.1.1", "10.0.0.1")]
    monkeypatch.setattr(target, "resolve", lambda _host, _port: found)
    with pytest.raises(TargetRefused):
        check("https://hooks.example/")


@pytest.mark.parametrize("address", ["1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700:4700::1111", "2a00:1450::1"])
def test_what_is_public_is_known(address: str) -> None:
    assert is_public(ip_address(address))


def test_a_name_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(outgoing, "RESOLVE", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(30))
    try:
        with pytest.raises(TargetRefused):
            check("https://hooks.example.org/")
        reply = PinnedConnection(parse("https://hooks.example.org/")).post("{}", {})
        assert (reply.error, reply.code) == ("timeout", None)
    finally:
        over.set()
