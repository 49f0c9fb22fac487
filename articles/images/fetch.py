"""Fetching a file from an address that a user gives, without reaching what only this server can reach.

The name is resolved once and its address is checked and then connected to, so that it cannot change in between; each
redirect is checked again. Size, time and number of redirects are limited, and no proxy, cookie or credential is used.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import PurePosixPath
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import SplitResult, unquote, urljoin, urlsplit

from django.conf import settings
from django.core.files.base import ContentFile
from django.utils.translation import gettext_lazy as _

from articles.exceptions import ArticleError
from articles.outgoing import Ends, Resolved, address_of, connect, is_public, resolve

TIMEOUT = 5.0  # seconds of each wait
FETCH_TIMEOUT = 20.0  # seconds for all of it
SLOT_TIMEOUT = 2.0  # seconds for others to end
MOST_REDIRECTS = 3
_concurrency = BoundedSemaphore(2)
_CHUNK = 64 * 1024
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = (301, 302, 303, 307, 308)


class NotFetched(ArticleError):
    """The file could not be fetched."""

    code = "not_fetched"
    message = _("The file could not be fetched from this address.")


class AddressRefused(NotFetched):
    """The address may not be fetched from."""

    code = "address_refused"
    message = _("Files are fetched from public addresses that begin with http:// or https:// only.")


def fetch(address: str, *, most: int, within: float = FETCH_TIMEOUT) -> ContentFile[bytes]:
    """The file at an address, of at most so many bytes, within seconds. Raises `AddressRefused` and `NotFetched`.

    Few at once in a process: a slow host must not hold all of its threads.
    """
    if not _concurrency.acquire(timeout=SLOT_TIMEOUT):
        raise NotFetched(_("Other files are being fetched; try again in a minute."))
    try:
        return _fetched(address, most, time.monotonic() + min(within, FETCH_TIMEOUT))
    finally:
        _concurrency.release()


def _fetched(address: str, most: int, end: float) -> ContentFile[bytes]:
    for _redirect in range(MOST_REDIRECTS + 1):
        place = _checked(address)
        try:
            target, data = _request(place, end, most)
        except (OSError, HTTPException) as error:
            raise NotFetched from error
        if target is None:
            return ContentFile(data, name=PurePosixPath(unquote(place.path)).name or place.hostname)
        address = urljoin(address, target)
    raise NotFetched


def _checked(address: str) -> SplitResult:
    """The parts of an address. Raises `AddressRefused`."""
    try:
        place = urlsplit(address)
        port = place.port
    except ValueError as error:
        raise AddressRefused from error
    is_plain = place.username is None and place.password is None and address.isascii()
    if place.scheme not in _PORTS or not place.hostname or not is_plain or port == 0:
        raise AddressRefused
    return place


def _request(place: SplitResult, end: float, most: int) -> tuple[str | None, bytes]:
    """The target of a redirect, or the content. Raises `NotFetched`, `OSError` and `HTTPException`."""
    kind: Callable[..., HTTPConnection] = HTTPSConnection if place.scheme == "https" else HTTPConnection
    port = place.port or _PORTS[place.scheme]
    connection: Any = kind(place.hostname, port, timeout=TIMEOUT)
    ends = Ends(end)
    connection._create_connection = partial(_connect, _resolved(place.hostname or "", port), ends)
    try:
        path = f"{place.path or '/'}{f'?{place.query}' if place.query else ''}"
        connection.request("GET", path, headers={"Accept": "image/*", "Accept-Encoding": "identity"})
        with connection.getresponse() as response:
            if response.status in _REDIRECTS:
                return response.headers.get("Location", ""), b""
            if response.status != 200:
                raise NotFetched
            return None, _content(response, end, most)
    finally:
        ends.cancel()
        connection.close()


def _connect(addresses: list[Resolved], ends: Ends, _place: Any, timeout: float, *_rest: Any) -> socket.socket:
    """A connection to the first of the checked addresses that accepts one."""
    connected = connect(addresses, timeout)
    ends.watch(connected)
    return connected


def _resolved(host: str, port: int) -> list[Resolved]:
    """What the name resolves to. Raises `AddressRefused` if any of it is not public, `OSError` for unknown names."""
    found = resolve(host, port)
    for address in map(address_of, found):
        is_known = any(address in network for network in settings.FETCH_NETWORKS)
        if not is_known and not (is_public(address) and port in _PORTS.values()):
            raise AddressRefused
    return found


def _content(response: HTTPResponse, end: float, most: int) -> bytes:
    """The whole body. Raises `NotFetched` if it is larger or takes longer than allowed."""
    data = bytearray()
    while chunk := response.read1(_CHUNK):
        data += chunk
        if len(data) > most or time.monotonic() > end:
            raise NotFetched(_("The file is too large, or it takes too long to fetch it."))
    if response.length or time.monotonic() > end:  # it was shut down
        raise NotFetched
    return bytes(data)
