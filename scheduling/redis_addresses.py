"""Redis URLs: their forms, and the servers and databases that they name."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

_USER = r"([^/@?#\s]*@)?"
HOST = r"(\[[0-9a-fA-F:]+\]|[\w.-]+)(:\d+)?"
_HOSTS = rf"{_USER}{HOST}(,{HOST})*"
_SERVER = rf"{_USER}{HOST}(/\d*)?(\?[\w=&%./+-]*)?"

# By scheme: what may follow "://", and an example.
SERVER_FORMS = {
    "redis": (_SERVER, "host:port/number"),
    "rediss": (_SERVER, "host:port/number"),
    "unix": (rf"{_USER}/[^?#\s]+(\?[\w=&%./+-]*)?", "/path?db=number"),
}
REDIS_FORMS = SERVER_FORMS | {
    "redis+sentinel": (rf"{_HOSTS}/[\w.-]+(/\d*)?", "host:port,host:port/service/number"),
    "redis+cluster": (rf"{_HOSTS}/?", "host:port,host:port"),
}


def database_number(url: str) -> int:
    """The number in `?db=`, which wins, or in the path."""
    parts = urlsplit(url)
    in_path = "" if parts.scheme == "unix" else parts.path.removeprefix("/")
    return int(dict(parse_qsl(parts.query)).get("db") or in_path or 0)


def server_and_database(url: str) -> tuple[str | None, int | None, str, int]:
    """The server and database of a URL, equal for URLs of the same database."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return None, None, parts.path, database_number(url)
    if parts.scheme in {"redis", "rediss"}:
        return parts.hostname or "localhost", parts.port or 6379, "", database_number(url)
    return parts.netloc, None, parts.path, 0


def several_servers(authority: str, default_port: int) -> tuple[dict[str, Any], list[tuple[str, int]]]:
    """Credentials, if any, and addresses of Sentinel and Cluster URLs: one set of credentials, several servers."""
    user, _, hosts = authority.rpartition("@")
    name, _, password = user.partition(":")
    credentials = {"username": unquote(name), "password": unquote(password)}
    parts = [urlsplit(f"//{host}") for host in hosts.split(",")]
    addresses = [(part.hostname or "localhost", part.port or default_port) for part in parts]
    return {key: value for key, value in credentials.items() if value}, addresses
