"""The only module that reads the environment: once, with strict validation.

An invalid value stops the start with a message that names the variable, the fault and the fix. An empty value counts
as unset. Variables may also be in the file that `ENV_FILE` names, one `NAME=value` per line without quotes; the real
environment takes precedence. Cron jobs use such a file.
"""

from __future__ import annotations

import os
import re
import zoneinfo
from collections.abc import Collection, Iterable
from datetime import time
from difflib import get_close_matches
from functools import lru_cache
from importlib.util import find_spec
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlencode, urlsplit

from django.core.exceptions import ImproperlyConfigured

from scheduling.redis_addresses import HOST, REDIS_FORMS, SERVER_FORMS, database_number, server_and_database

BASE_DIR = Path(__file__).resolve().parent.parent

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})
_LAST_PORT = 65535
_MYSQL_PORT = 3306
_SHORTEST_SECRET = 4
_ENCODED = "; special characters of a password as %XX, such as %23 for #"
_MAIL_PORTS = {"smtp": 25, "smtps": 465, "smtp+tls": 587}
_LAST_REDIS_DATABASE = 15  # with Redis' default configuration
LDAP_GROUP_TYPES = ("groupOfNames", "groupOfUniqueNames", "posixGroup", "activeDirectory")


class WrongEnvironment(ImproperlyConfigured):
    """An environment variable is invalid."""

    def __init__(self, name: str, fault: str, remedy: str) -> None:
        super().__init__(f"{name} {fault}: {remedy}.")


def stored(name: str, path: Path) -> dict[str, str]:
    """The variables in a file, which the variable `name` names."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise WrongEnvironment(name, f"names a file that cannot be read ({error})", "correct or remove it") from error
    return dict(_assignment(name, line) for line in lines if line.strip() and not line.startswith("#"))


def _assignment(name: str, line: str) -> tuple[str, str]:
    variable, equals, value = line.partition("=")
    if not equals or not re.fullmatch(r"\w+", variable):
        raise WrongEnvironment(name, f"names a file with the line {line!r}", "write NAME=value in each line")
    return variable, value


FILE = Path(os.environ["ENV_FILE"]).resolve() if os.environ.get("ENV_FILE") else None
"""The file that `ENV_FILE` names."""

_stored = stored("ENV_FILE", FILE or Path(os.devnull))
_environment = {**_stored, **os.environ}
_used: dict[str, str] = {}
_asked: set[str] = set()

_OURS = (
    *(
        "AUTH_LDAP_",
        "CDN_PURGE_",
        "DJANGO_",
        "METRICS_",
        "PUSH_",
        "OIDC_",
        "SAML_",
        "SCHEDULING_",
        "SECOND_FACTOR_",
        "SSO_",
        "WEBHOOK_",
    ),
)
"""Beginnings of variables that no other program has."""
_OF_OTHERS = re.compile(
    r"DJANGO_(?:ALLOW_ASYNC_UNSAFE|AUTO_COMPLETE|COLORS|RUNSERVER_\w+|SETTINGS_MODULE|SUPERUSER_\w+|WATCHMAN_TIMEOUT)"
    r"|(?i:https?|all|no)_(?i:proxy)|ENV_FILE|LANG|PATH|TZ|WEB_CONCURRENCY"
    r"|(?:AWS|GUNICORN|LC|MALLOC|OTEL|PROMETHEUS|PYTHON|SENTRY|SSL)_?\w*"
)
"""What libraries, Django and gunicorn read of `ENV_FILE` and the environment."""


def given() -> dict[str, str]:
    """The variables that the settings have read, which another process needs for the same settings."""
    return dict(_used)


def unread() -> dict[str, str]:
    """Variables that look like ours and that no setting reads, each with the name that may be meant, or ""."""
    ours = {name for name in _environment if name.startswith(_OURS)} | _stored.keys()
    names = sorted(name for name in ours - _asked if not _OF_OTHERS.fullmatch(name))
    return {name: next(iter(get_close_matches(name, sorted(_asked), n=1)), "") for name in names}


PLAIN = frozenset(
    {
        *("AUTH_LDAP_BIND_DN", "AUTH_LDAP_CA_FILE", "AUTH_LDAP_GROUP_BASE", "AUTH_LDAP_GROUP_TYPE", "AUTH_LDAP_PLAIN"),
        *("AUTH_LDAP_SERVER", "AUTH_LDAP_USER_BASE", "AUTH_LDAP_USER_DN", "AUTH_LDAP_USER_FILTER"),
        *(
            "API_TOKEN_DAYS",
            "EVENT_DAYS",
            "CDN_PURGE_METHOD",
            "DATABASE_TIMEOUT",
            "DATA_DIR",
            "DJANGO_ALLOWED_HOSTS",
            "DJANGO_DEBUG",
        ),
        *(
            "EXPENSIVE_REQUESTS",
            "IMAGES_AT_ONCE",
            "REQUEST_TIMEOUT",
            "EMAIL_FROM",
            "LANGUAGE_CODE",
            "LOG_FORMAT",
            "MEDIA_ACCEL_REDIRECT",
            "METRICS_NETWORKS",
            "OIDC_CLIENT_ID",
        ),
        *("OIDC_GROUPS_CLAIM", "OIDC_ISSUER", "PROXY_COUNT", "REDIS_KEY_PREFIX", "SECOND_FACTOR_AT_PROVIDER"),
        *("SAML_CERTIFICATE", "SAML_EMAIL_ATTRIBUTE", "SAML_GROUPS_ATTRIBUTE", "SAML_IDP_ENTITY_ID", "SAML_METADATA"),
        *("SAML_NAME_ATTRIBUTE", "SAML_SP_ENTITY_ID", "SAML_SSO_URL"),
        *("FOREIGN_MEDIA", "FRONT_ARCHIVE", "SECOND_FACTOR_ROLES", "SESSION_HOURS", "SITE_URL"),
        *("SSO_NAME", "SSO_ROLES", "SSO_TRUST_EMAIL", "TIME_ZONE", "TWO_PERSON_RULE", "WEBHOOK_ALLOWED_HOSTS"),
        *("PUSH_DAYS", "PUSH_HOSTS", "PUSH_PER_DAY", "PUSH_QUIET_HOURS", "WEBHOOK_ALLOW_HTTP"),
    }
)
"""The variables that contain no secret; all others may, also as part of a URL."""


def redact(message: str) -> str:
    """`message` without the secrets of the environment, such as an error that quotes a URL."""
    return _secrets(tuple(_used.items())).sub("…", message)


@lru_cache(maxsize=1)
def _secrets(used: Iterable[tuple[str, str]]) -> re.Pattern[str]:
    """Values that may be secret: whole ones, and the credentials in URLs, but no user names."""
    found: set[str] = set()
    for value in (value for name, value in used if name not in PLAIN):
        found |= {value, *re.split(r"[\s,]+", value)}
        for scheme, credentials in re.findall(r"(?<![\w+])([\w+]++)://([^/\s]*)@", value):
            user, _, password = credentials.partition(":")
            raw = password or (user if scheme in ("http", "https") else "")  # a key, such as Sentry's
            found |= {raw, unquote(raw)}
    known = sorted((secret for secret in found if len(secret) >= _SHORTEST_SECRET), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, known)) or "(?!)")


def text(name: str, *, default: str = "", choices: Collection[str] = ()) -> str:
    """A line of text, one of `choices` if there are any."""
    _asked.add(name)
    value = _environment.get(name, "").strip()
    if not value:
        return default
    if not value.isprintable():
        raise WrongEnvironment(name, "contains a line break or another control character", "remove it")
    if choices and value not in choices:
        raise WrongEnvironment(name, f"is {value!r}", f"choose one of {', '.join(choices)}")
    _used[name] = value
    return value


def flag(name: str, *, default: bool) -> bool:
    """A boolean, in the usual spellings."""
    if (value := text(name).lower()) and value not in _TRUE | _FALSE:
        raise WrongEnvironment(name, f"is {value!r}", "write on or off")
    return value in _TRUE if value else default


def number(name: str, *, default: int, least: int = 0) -> int:
    """A whole number of at least `least`."""
    value = text(name)
    if value and (not re.fullmatch(r"\d{1,9}", value, re.ASCII) or int(value) < least):
        raise WrongEnvironment(name, f"is {value!r}", f"write a whole number of at least {least}")
    return int(value) if value else default


def names(name: str, *, default: Iterable[str] = ()) -> list[str]:
    """A list, separated by commas."""
    return [item for item in map(str.strip, text(name).split(",")) if item] or list(default)


def hours(name: str, *, default: str) -> tuple[time, time] | None:
    """From when until when of each day, such as 23:00-07:00; None for "never"."""
    value = text(name, default=default)
    if value == "never":
        return None
    try:
        begin, end = map(time.fromisoformat, value.split("-"))
    except ValueError as error:
        raise WrongEnvironment(name, f"is {value!r}", "write hours such as 23:00-07:00, or never") from error
    return begin, end


def push_key(name: str) -> str:
    """A private key for pushes, as `manage.py push_key` makes it."""
    value = text(name)
    if value and not re.fullmatch(r"[\w-]{43}", value, re.ASCII):
        raise WrongEnvironment(name, "is no private key", "make one by manage.py push_key")
    return value


def mapping(name: str) -> dict[str, str]:
    """Pairs such as `editors=Editor, chiefs=Editor-in-chief`."""
    pairs = [item.partition("=") for item in names(name)]
    if any(not key.strip() or not value.strip() for key, _, value in pairs):
        raise WrongEnvironment(name, "contains an item that is no pair", "write pairs such as news-editors=Editor")
    return {key.strip(): value.strip() for key, _, value in pairs}


def open_id(issuer: str, client_id: str, secret: str, *, roles: Collection[str]) -> dict[str, Any]:
    """The OpenID Connect client for django-allauth; empty if `OIDC_ISSUER` is unset."""
    if not issuer:
        return {}
    given = {"OIDC_CLIENT_ID": client_id, "OIDC_CLIENT_SECRET": secret, "SSO_ROLES": roles}
    for name, value in given.items():
        if not value:
            raise WrongEnvironment(name, "is missing", "set it together with OIDC_ISSUER")
    remedy = "write the issuer exactly as the provider names it, such as https://login.example.org/realms/news"
    if not re.fullmatch(rf"https?://{HOST}(/[^\s?#]*)?", issuer, re.ASCII):
        raise WrongEnvironment("OIDC_ISSUER", "has an unknown format", remedy)
    _require_https("OIDC_ISSUER", issuer, remedy)
    return {"client_id": client_id, "secret": secret, "settings": {"server_url": issuer}}


def ldap(server: str, *, is_plain: bool, roles: Collection[str], trusts_email: bool, **found: str) -> dict[str, str]:
    """The LDAP directory with whose passwords users sign in, with the rest of `AUTH_LDAP_`; empty without a server."""
    if not server:
        return {}
    if not re.fullmatch(rf"ldaps?://{HOST}", server, re.ASCII):
        raise WrongEnvironment("AUTH_LDAP_SERVER", "has an unknown format", "write it like ldaps://ldap.example.org")
    needed = ["group_base"] if found["user_dn"] else ["group_base", "user_base", "bind_dn", "bind_password"]
    for name in needed:
        if not found[name]:
            raise WrongEnvironment(f"AUTH_LDAP_{name.upper()}", "is missing", "set it together with AUTH_LDAP_SERVER")
    for name in ("user_dn", "user_filter"):
        if found[name] and not _has_one_user(found[name]):
            remedy = "write %(user)s for the name, such as uid=%(user)s,ou=people,dc=example,dc=org or (uid=%(user)s)"
            raise WrongEnvironment(f"AUTH_LDAP_{name.upper()}", "has no place for the name", remedy)
    if found["ca_file"] and not Path(found["ca_file"]).is_file():
        raise WrongEnvironment("AUTH_LDAP_CA_FILE", "names no file", "name the file of certificates, in PEM format")
    if not roles:
        raise WrongEnvironment("SSO_ROLES", "is missing", "set it together with AUTH_LDAP_SERVER")
    if not trusts_email:
        remedy = "set it to on if users cannot change their addresses in the directory"
        raise WrongEnvironment("SSO_TRUST_EMAIL", "is off, and a directory confirms no addresses", remedy)
    _require("ldap", "django_auth_ldap", name="AUTH_LDAP_SERVER", lock="requirements-ldap.lock")
    start_tls = "on" if server.startswith("ldap://") and not is_plain else ""
    return {**found, "server": server, "start_tls": start_tls}


def saml(
    idp_entity_id: str, *, roles: Collection[str], trusts_email: bool, has_open_id: bool, **found: str
) -> dict[str, str]:
    """The SAML identity provider, with the rest of `SAML_`; empty without its entity ID."""
    if not idp_entity_id:
        return {}
    switch = "SAML_IDP_ENTITY_ID"
    if has_open_id:
        raise WrongEnvironment(switch, "is set beside OIDC_ISSUER", "choose one of them")
    for name, value in ((switch, idp_entity_id), ("SAML_SP_ENTITY_ID", found["sp_entity_id"])):
        if not re.fullmatch(r"[!-~]{0,1024}", value) or re.search(r"""[<>&'"]""", value):
            raise WrongEnvironment(name, "has an unknown format", "write a URI such as https://login.example.org/saml")
    if bool(found["metadata"]) == bool(found["sso_url"] or found["certificate"]):
        remedy = "set SAML_METADATA, or SAML_SSO_URL and SAML_CERTIFICATE"
        raise WrongEnvironment(switch, "needs either metadata or address and certificate", remedy)
    if found["metadata"].startswith(("https://", "http://")):
        _check_url("SAML_METADATA", found["metadata"])
    elif found["metadata"]:
        _check_file("SAML_METADATA", found["metadata"])
    else:
        _check_url("SAML_SSO_URL", found["sso_url"])
        _check_file("SAML_CERTIFICATE", found["certificate"])
    if not roles:
        raise WrongEnvironment("SSO_ROLES", "is missing", f"set it together with {switch}")
    if not trusts_email:
        remedy = "set it to on if users cannot change their addresses at the identity provider"
        raise WrongEnvironment("SSO_TRUST_EMAIL", "is off, and SAML confirms no addresses", remedy)
    _require("onelogin", "xmlsec", name=switch, lock="requirements-saml.lock")
    return {**found, "idp_entity_id": idp_entity_id}


def _check_url(name: str, value: str) -> None:
    _require_https(name, _address(name, value), "write something like https://login.example.org/saml")


def _check_file(name: str, value: str) -> None:
    if not Path(value).is_file():
        raise WrongEnvironment(name, "names no file", "correct the path")


def _require_https(name: str, url: str, remedy: str) -> None:
    host = _split(name, url, remedy).hostname or ""
    if not url.startswith("https://") and not is_loopback(host):
        raise WrongEnvironment(name, "does not use https", remedy)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _has_one_user(value: str) -> bool:
    return value.count("%") == value.count("%(user)s") == 1


def _require(*modules: str, name: str, lock: str) -> None:
    for module in modules:
        if find_spec(module) is None:
            fault = f"needs packages that are not installed ({module})"
            raise WrongEnvironment(name, fault, f"install {lock}, or remove the variable")


def directory(name: str, *, default: Path) -> Path:
    """A directory, created if missing; relative to the project."""
    return _made(name, BASE_DIR / (text(name) or default))


def subdirectory(name: str, path: Path) -> Path:
    """A directory below that of the variable `name`, created if missing."""
    return _made(name, path)


def _made(name: str, path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fault = f"needs {str(path)!r}, which cannot be made ({error.strerror})"
        raise WrongEnvironment(name, fault, "name a directory that you may write") from error
    return path


def hosts(name: str, *, default: Iterable[str]) -> list[str]:
    """Host names as Django's ALLOWED_HOSTS wants them."""
    values = names(name, default=default)
    for value in values:
        if value != "*" and not re.fullmatch(r"\.?[\w.-]+|\[[0-9a-fA-F:.]+\]", value):
            raise WrongEnvironment(name, f"contains {value!r}", "write host names without scheme, port or path")
    return values


def networks(name: str) -> list[IPv4Network | IPv6Network]:
    """Networks such as 10.0.0.0/8, separated by commas; an address alone is a network of one."""
    try:
        return [ip_network(value) for value in names(name)]
    except ValueError as error:
        raise WrongEnvironment(name, f"contains no network ({error})", "write networks such as 10.0.0.0/8") from error


def time_zone(name: str, *, default: str) -> str:
    """The name of a time zone."""
    value = text(name, default=default)
    try:
        zoneinfo.ZoneInfo(value)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise WrongEnvironment(name, f"is {value!r}", "write a time zone such as Asia/Shanghai") from error
    return value


def host_of(url: str) -> str:
    """The host of a URL for ALLOWED_HOSTS: without port, an IPv6 address in brackets."""
    return re.sub(r":\d+$", "", urlsplit(url).netloc)


def site_url(name: str, *, default: str) -> str:
    """The URL of the site, without a trailing slash."""
    value = text(name, default=default)
    _split(name, value, "write something like https://news.example.org")
    if not re.fullmatch(rf"https?://{HOST}/*", value, re.ASCII):
        remedy = "write scheme and host alone, such as https://news.example.org; other letters than a-z as xn--…"
        raise WrongEnvironment(name, f"is {value!r}", remedy)
    return value.rstrip("/")


def address(name: str) -> str:
    """The URL of a service, or "" if unset."""
    value = text(name)
    return _address(name, value) if value else ""


def addresses(name: str) -> list[str]:
    """URLs of services, separated by commas."""
    return [_address(name, value) for value in names(name)]


def origins(name: str) -> list[str]:
    """Origins such as https://app.example.org, separated by commas, or `*` alone for any."""
    found = names(name)
    remedy = "write origins such as https://app.example.org, or * alone"
    for value in found if found != ["*"] else ():
        _split(name, value, remedy)
        if not re.fullmatch(rf"https?://{HOST}", value, re.ASCII):
            raise WrongEnvironment(name, f"contains {value!r}", remedy)
    return found


def _address(name: str, value: str) -> str:
    remedy = "write something like https://hub.example.org/"
    _split(name, value, remedy)
    if not re.fullmatch(rf"https?://{HOST}(/[^\s#]*)?", value, re.ASCII):
        raise WrongEnvironment(name, "has an unknown format", remedy)  # it may hold a password
    return value


def header(name: str) -> dict[str, str]:
    """An HTTP header, such as `Authorization: Bearer secret`; empty if unset."""
    value = text(name)
    if value and not re.fullmatch(r"[\w-]+: *[!-~][ -~]*", value, re.ASCII):
        fault = "has an unknown format"  # the value is a secret and is not repeated
        raise WrongEnvironment(name, fault, "write name and value, such as Authorization: Bearer secret")
    field, _, content = value.partition(":")
    return {field: content.strip()} if value else {}


def _split(name: str, value: str, remedy: str) -> SplitResult:
    """Split a URL, including its port, so that an invalid port is an error here."""
    try:
        url = urlsplit(value)
        _ = url.port
    except ValueError:
        # The value is not repeated, not even as the cause: unescaped, a password may be parsed as the port.
        raise WrongEnvironment(name, "has no valid host and port", remedy) from None
    return url


def database(name: str, *, default: str) -> dict[str, Any]:
    """Django's DATABASES entry for `sqlite:///path` or `mysql://user:password@host:port/name?unix_socket=/path`.

    Several servers of one database are separated by commas. A SQLite path is relative to the project. Names and
    passwords may be percent-encoded.
    """
    remedy = f"write sqlite:///path, mysql://user:password@host:port/name or …@host:port,host:port/name{_ENCODED}"
    value = text(name, default=default)
    if value.startswith("sqlite://"):
        return _sqlite(name, unquote(value.removeprefix("sqlite://").removeprefix("/")))
    first, *others = _servers(value)
    urls = [_split(name, one, remedy) for one in (first, *others)]
    if urls[0].scheme != "mysql":
        raise WrongEnvironment(name, f"has the scheme {urls[0].scheme!r}", remedy)
    entry = _mysql(name, urls[0], remedy)
    if others:
        if not all(url.hostname for url in urls) or entry["OPTIONS"]:
            raise WrongEnvironment(name, "names a server without a host", remedy)
        entry["OPTIONS"]["servers"] = [(url.hostname, url.port or _MYSQL_PORT) for url in urls]
    return entry


def _servers(url: str) -> list[str]:
    """The URL with each of its hosts."""
    scheme, slashes, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, hosts = authority.rpartition("@")
    return [f"{scheme}{slashes}{user}{at}{host}{slash}{path}" for host in hosts.split(",")]


def _sqlite(name: str, path: str) -> dict[str, Any]:
    if path == ":memory:":
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": path}
    file = BASE_DIR / path
    if not path or file.is_dir() or not file.parent.is_dir():
        raise WrongEnvironment(name, f"names {str(file)!r}", "name a file in a directory that exists")
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(file)}


def _mysql(name: str, url: SplitResult, remedy: str) -> dict[str, Any]:
    database_name = unquote(url.path.removeprefix("/"))
    if not database_name or "/" in database_name:
        raise WrongEnvironment(name, "names no database", remedy)
    options = dict(parse_qsl(url.query, keep_blank_values=True))
    if unknown := options.keys() - {"unix_socket"}:
        raise WrongEnvironment(name, f"has the unknown option {min(unknown)!r}", "only unix_socket is understood")
    if not url.hostname and not options:
        raise WrongEnvironment(name, "names neither a host nor a socket", remedy)
    return {
        "ENGINE": "scheduling.database.mysql",
        "NAME": database_name,
        "USER": unquote(url.username or ""),
        "PASSWORD": unquote(url.password or ""),
        "HOST": url.hostname or "",
        "PORT": url.port or "",
        "OPTIONS": options,
    }


def mail(name: str, *, debug: bool) -> dict[str, Any]:
    """Django's EMAIL_ settings; if unset, mails go to the console in debug mode, else nowhere."""
    if not (value := text(name)):
        return {"EMAIL_BACKEND": f"django.core.mail.backends.{'console' if debug else 'dummy'}.EmailBackend"}
    remedy = f"write smtp://user:password@host:port, smtps:// for TLS or smtp+tls:// for STARTTLS{_ENCODED}"
    url = _split(name, value, remedy)
    if url.scheme not in _MAIL_PORTS or not url.hostname or url.path or url.query or url.fragment:
        raise WrongEnvironment(name, "has an unknown format", remedy)
    return {
        "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
        "EMAIL_HOST": url.hostname,
        "EMAIL_PORT": url.port or _MAIL_PORTS[url.scheme],
        "EMAIL_HOST_USER": unquote(url.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(url.password or ""),
        "EMAIL_USE_SSL": url.scheme == "smtps",
        "EMAIL_USE_TLS": url.scheme == "smtp+tls",
    }


def sender(name: str, *, default: str) -> str:
    """A mail address, with or without a display name."""
    value = text(name, default=default)
    if not re.fullmatch(r"[\w.+-]+@[\w.-]+|[^<>@]+ <[\w.+-]+@[\w.-]+>", value):
        raise WrongEnvironment(name, f"is {value!r}", "write something like Headline <news@example.org>")
    return value


def redis(name: str) -> str:
    """The URL of a Redis, or "" if unset."""
    return _redis(name, REDIS_FORMS)


def redis_cache(name: str, *, queue: str) -> str:
    """The URL of the cache's Redis; if unset, the next database of the queue's server if that is a single one.

    Clearing the cache flushes its database, so it must not be the queue's.
    """
    value = _redis(name, SERVER_FORMS)
    if value and queue and server_and_database(value) == server_and_database(queue):
        raise WrongEnvironment(name, "is the queue's own database", "give the cache another database number")
    if value or not queue.startswith(("redis://", "rediss://", "unix://")):
        return value
    address, _, query = queue.partition("?")
    number = database_number(queue)
    following = 0 if number == _LAST_REDIS_DATABASE else number + 1
    return f"{address}?{urlencode(dict(parse_qsl(query)) | {'db': str(following)})}"


def _redis(name: str, forms: dict[str, tuple[str, str]]) -> str:
    value = text(name)
    scheme, _, rest = value.partition("://")
    pattern, _ = forms.get(scheme, ("(?!)", ""))
    wrong_database = re.search(r"[?&]db=(?!\d+(&|$))", rest)
    ports = [int(port) for port in re.findall(r":(\d+)(?=[,/?]|$)", rest)]
    if value and (not re.fullmatch(pattern, rest, re.ASCII) or wrong_database or max(ports, default=0) > _LAST_PORT):
        remedy = "write one of " + " ".join(f"{form}://{example}" for form, (_, example) in forms.items())
        raise WrongEnvironment(name, "has an unknown format", remedy)
    return value
