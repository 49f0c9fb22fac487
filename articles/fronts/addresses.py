"""Which addresses a front may lead to: pages of the web and of the readers' site, and nothing inside a network."""

from __future__ import annotations

import re
from ipaddress import ip_address
from posixpath import normpath
from urllib.parse import unquote, urlsplit

from django.urls import reverse
from django.utils.translation import gettext as _

from articles.exceptions import NotEditable
from articles.limits import ADDRESS_LENGTH
from articles.outgoing import is_public

_PLAIN = re.compile(r"[^\x00-\x20\x7f\\<>\"]+")
"""Without what browsers skip or read as something else."""

_INTERNAL = ("local", "localhost", "internal", "intranet", "lan", "home", "corp", "test", "invalid", "onion")
"""Ends of names that no public host has."""


def checked_address(address: str) -> str:
    """An address of the web or a path of the readers' site. Raises `NotEditable`."""
    found = address.strip()
    if len(found) > ADDRESS_LENGTH or not _PLAIN.fullmatch(found) or not (_is_page(found) or _is_public(found)):
        raise NotEditable(
            _("“%(address)s” is no address for readers: begin with https:// or http://, or give a path of the site.")
            % {"address": found[:100]}
        )
    return found


def _is_page(path: str) -> bool:
    """Whether it is a path of the readers' site."""
    if not path.startswith("/") or path.startswith("//"):
        return False
    # As a browser asks for it and Django reads it: decoded, and without dots.
    plain = normpath(unquote(re.split("[?#]", path)[0])).strip("/")
    return not f"/{plain}/".startswith((reverse("admin:index"), "/api/"))


def _is_public(address: str) -> bool:
    """Whether it is an address of the web, as far as its name tells: what it resolves to may change at any time."""
    try:
        place = urlsplit(address)
        place.port  # noqa: B018 (raises)
        host = (place.hostname or "").rstrip(".")
        if not host.isascii():  # browsers read some characters as a dot or as other letters
            host = host.encode("idna").decode()
    except ValueError:
        return False
    if place.scheme not in ("http", "https") or place.username is not None or place.password is not None:
        return False
    try:
        return is_public(ip_address(host))
    except ValueError:
        _first, dot, last = host.rpartition(".")
    # A last part of figures, or hexadecimal ones, is one of the ways to write an address of IPv4.
    return bool(dot) and "%" not in host and last not in _INTERNAL and not re.match(r"\d|0x", last)
