"""Which requests come from operators and their programs, by token or network."""

from __future__ import annotations

import ipaddress
import secrets

from django.conf import settings
from django.http import HttpRequest

_BY_PROXIES = frozenset(
    {"HTTP_FORWARDED", "HTTP_VIA", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP"}
)


def is_operator(request: HttpRequest) -> bool:
    """Whether the request has `METRICS_TOKEN` or comes from one of `METRICS_NETWORKS`."""
    return _has_token(request) or _is_in_network(request)


def is_on_this_machine(request: HttpRequest) -> bool:
    """Whether a program on this machine asks, and no proxy for another client."""
    address = _address_of(request)
    return address is not None and address.is_loopback and _BY_PROXIES.isdisjoint(request.META)


def _has_token(request: HttpRequest) -> bool:
    given, wanted = request.headers.get("Authorization", ""), f"Bearer {settings.METRICS_TOKEN}"
    return bool(settings.METRICS_TOKEN) and secrets.compare_digest(given.encode("latin-1", "replace"), wanted.encode())


def _is_in_network(request: HttpRequest) -> bool:
    """Whether the connection comes from a listed network; headers are ignored, because clients can forge them.

    None is listed by default, not even this machine: behind a local proxy every visitor would come from there.
    """
    address = _address_of(request)
    return address is not None and any(address in network for network in settings.METRICS_NETWORKS)


def _address_of(request: HttpRequest) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(request.META.get("REMOTE_ADDR", ""))
    except ValueError:
        return None
