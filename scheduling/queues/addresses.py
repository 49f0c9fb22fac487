"""Parses the addresses of Sentinel and Cluster URLs: one set of credentials, several servers."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit


def parse(authority: str, default_port: int) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """The credentials, if any, and the addresses."""
    user, _, hosts = authority.rpartition("@")
    name, _, password = user.partition(":")
    credentials = {"username": unquote(name), "password": unquote(password)}
    parts = [urlsplit(f"//{host}") for host in hosts.split(",")]
    addresses = [(part.hostname or "localhost", part.port or default_port) for part in parts]
    return {key: value for key, value in credentials.items() if value}, addresses
