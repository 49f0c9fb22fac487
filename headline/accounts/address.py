"""The client address of a request, for rate limits."""

from __future__ import annotations

import re
import threading
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

uncounted_proxy = threading.Event()
"""Set once a proxy has passed a request on although `PROXY_COUNT` is 0: all its clients count as one address."""

UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104 (where an address is needed and none is known)
_PORT = re.compile(r"^(?:([\d.]+)|\[(.+)\])(?::\d+)?$")  # some proxies add it: each connection has another one
_IPV6_PREFIX = 64  # bits of a network that providers assign to one customer


def address_of(request: HttpRequest | None) -> str:
    """The client's address, past `PROXY_COUNT` proxies; the whole /64 of an IPv6 address. Empty if unknown."""
    return _network(full_address_of(request)) if request is not None else ""


def full_address_of(request: HttpRequest) -> str:
    """The client's address, past `PROXY_COUNT` proxies; not validated."""
    address = str(request.META.get("REMOTE_ADDR") or "")
    forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    if settings.PROXY_COUNT and forwarded:
        address = forwarded[-min(settings.PROXY_COUNT, len(forwarded))]
    return _PORT.sub(r"\1\2", address)


def detect_proxy(request: HttpRequest) -> None:
    """Set `uncounted_proxy` if a proxy forwarded this; headers from public addresses may be forged and are ignored."""
    if settings.PROXY_COUNT or not ({"HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED"} & request.META.keys()):
        return
    try:
        is_near = ip_address(request.META.get("REMOTE_ADDR") or "127.0.0.1").is_private
    except ValueError:
        is_near = False
    if is_near:
        uncounted_proxy.set()


def _network(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ip_network((found, _IPV6_PREFIX), strict=False))
    return str(found)
