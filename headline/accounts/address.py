"""Where a request comes from, as far as limits are concerned."""

from __future__ import annotations

import threading
from ipaddress import IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

uncounted_proxy = threading.Event()
"""Set once a proxy has passed a request on although `PROXY_COUNT` is 0: all its visitors count as one address."""

_IPV6_SITE = 64  # bits that a provider gives to one customer at least


def address_of(request: HttpRequest | None) -> str:
    """The client's address, past `PROXY_COUNT` proxies; the whole /64 of an IPv6 address. Empty when it is unknown."""
    if request is None:
        return ""
    address = str(request.META.get("REMOTE_ADDR") or "")
    forwarded = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()]
    if settings.PROXY_COUNT and forwarded:
        address = forwarded[-min(settings.PROXY_COUNT, len(forwarded))]
    return _site(address)


def look_for_proxies(request: HttpRequest) -> None:
    """Set `uncounted_proxy` if this came by one. A header from a public address proves nothing: anybody may send it."""
    if settings.PROXY_COUNT or not ({"HTTP_X_FORWARDED_FOR", "HTTP_FORWARDED"} & request.META.keys()):
        return
    try:
        is_near = ip_address(request.META.get("REMOTE_ADDR") or "127.0.0.1").is_private
    except ValueError:
        is_near = False
    if is_near:
        uncounted_proxy.set()


def _site(address: str) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped:
            return str(found.ipv4_mapped)
        return str(ip_network((found, _IPV6_SITE), strict=False))
    return str(found)
