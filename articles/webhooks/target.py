"""The URL of a webhook: what may be stored, and to which addresses a connection is made."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from articles.exceptions import ArticleError
from articles.limits import ADDRESS_LENGTH
from articles.outgoing import Resolved, address_of, is_public, resolve

_PORTS = {"https": 443, "http": 80}
_NAME = re.compile(r"(?=.{1,253}$)(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.IGNORECASE)
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.IGNORECASE)
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\^`{|}<>\"]")


class TargetRefused(ArticleError):
    """Nothing is sent to this URL."""

    code = "url_refused"
    message = _("Webhooks are sent to public addresses that begin with https:// and name no other port than 443.")


@dataclass(frozen=True)
class Target:
    """The parts of a URL that was checked."""

    scheme: str
    host: str
    port: int
    path: str
    is_listed: bool  #: an internal one that the environment allows

    @property
    def host_header(self) -> str:
        """The host, with its port where that is not the scheme's."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse(url: str, *, listed: Collection[str] | None = None) -> Target:
    """The parts of a URL to which something may be sent, as far as its text says. Raises `TargetRefused`.

    `listed` are internal hosts that the environment allows, unless those of webhooks.
    """
    try:
        place = urlsplit(url)
        port = place.port
    except ValueError as error:
        raise TargetRefused from error
    host = (place.hostname or "").lower()
    is_plain = url.isascii() and not _UNSAFE.search(url) and len(url) <= ADDRESS_LENGTH
    if place.scheme not in _PORTS or not is_plain or not _is_host(host) or "@" in place.netloc or place.fragment:
        raise TargetRefused
    number = _PORTS[place.scheme] if port is None else port
    listed = settings.WEBHOOK_ALLOWED_HOSTS if listed is None else listed
    is_listed = host in listed or f"{host}:{number}" in listed
    if not is_listed and (number != _PORTS[place.scheme] or not _may_use(place.scheme)):
        raise TargetRefused
    path = f"{place.path or '/'}{f'?{place.query}' if place.query else ''}"
    return Target(place.scheme, host, number, path, is_listed)


def _may_use(scheme: str) -> bool:
    return scheme == "https" or bool(settings.WEBHOOK_ALLOW_HTTP)


def _is_host(host: str) -> bool:
    """Whether it is a name or an address in its usual form; resolvers take other numbers for addresses, too."""
    if ":" in host:
        return "%" not in host
    last = host.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last):
        try:
            return str(IPv4Address(host)) == host
        except ValueError:
            return False
    return bool(_NAME.fullmatch(host))


def addresses(target: Target) -> list[Resolved]:
    """To what a connection may be made: what the name resolves to now. Raises `TargetRefused`, and `OSError`.

    Refused if any of it is not public: another attempt could meet that one.
    """
    found = resolve(target.host, target.port)
    if not target.is_listed and not all(is_public(address_of(one)) for one in found):
        raise TargetRefused
    return found


def check(url: str) -> Target:
    """The parts of a URL, once its name has been resolved. Raises `TargetRefused`."""
    target = parse(url)
    try:
        addresses(target)
    except OSError as error:
        raise TargetRefused(_("The name of this host is not known.")) from error
    except UnicodeError as error:
        raise TargetRefused from error
    return target
