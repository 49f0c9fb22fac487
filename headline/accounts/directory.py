"""Sign-in with name and password of an LDAP directory, by django-auth-ldap, which is not imported unless it is on."""

from __future__ import annotations

import hashlib
import logging
import socket
import ssl
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError
from django.http import HttpRequest

from headline.accounts.hashing import NoTurn
from headline.accounts.single_sign_on import DIRECTORY, Identity, SignInRefused, line_of, sign_in

logger = logging.getLogger(__name__)

TIMEOUT = 5  # seconds for a connection, and for each answer
MAX_CHECKS = 3  # in each process at once, so that a slow directory leaves most threads to readers
_checks = threading.BoundedSemaphore(MAX_CHECKS)
_PORTS = {"ldap": 389, "ldaps": 636}
_START_TLS = bytes.fromhex("301d02010177188016") + b"1.3.6.1.4.1.1466.20037"  # RFC 4511, 4.14.1
GROUP_TYPES = {
    "groupOfNames": ("GroupOfNamesType", "groupOfNames"),
    "groupOfUniqueNames": ("GroupOfUniqueNamesType", "groupOfUniqueNames"),
    "posixGroup": ("PosixGroupType", "posixGroup"),
    "activeDirectory": ("NestedActiveDirectoryGroupType", "group"),
}
"""`AUTH_LDAP_GROUP_TYPE` to the class of django-auth-ldap and the object class."""


def user_in_directory(request: HttpRequest | None, username: str, password: str) -> User | None:
    """The user with this name and password, None if the directory knows none. Raises `SignInRefused` and `NoTurn`."""
    if not password or not username.isprintable():
        return None  # servers accept an empty password as anonymous
    if not _checks.acquire(blocking=False):
        raise NoTurn
    try:
        _refuse_silent(settings.LDAP["server"], start_tls=bool(settings.LDAP["start_tls"]))
        return _found(request, username, password)
    finally:
        _checks.release()


def _refuse_silent(server: str, *, start_tls: bool) -> None:
    """Raise `SignInRefused` if the server does not answer: libldap waits for a TLS handshake without end."""
    url = urlsplit(server)
    address = url.hostname or "", url.port or _PORTS[url.scheme]
    try:
        with socket.create_connection(address, TIMEOUT) as connection:
            if start_tls:
                connection.sendall(_START_TLS)
                connection.recv(1024)  # a refusal makes the handshake fail, and libldap say why
            if start_tls or url.scheme == "ldaps":
                context = ssl._create_unverified_context()  # noqa: S323 (libldap verifies; nothing is sent here)
                with suppress(ssl.SSLError), context.wrap_socket(connection):
                    pass
    except OSError as error:
        logger.warning("The directory cannot be reached: %s", error)
        raise SignInRefused("provider") from error


def _found(request: HttpRequest | None, username: str, password: str) -> User | None:
    library = import_module("django_auth_ldap.backend")
    base: Any = library.LDAPBackend

    class Backend(base):  # type: ignore[misc]  # the class of an optional package
        """Gives the account of the identity instead of one with the same name."""

        def get_or_build_user(self, username: str, ldap_user: Any) -> tuple[User, bool]:
            """After the password was accepted. Raises `SignInRefused`."""
            return _linked_user(ldap_user), False

        def authenticate_ldap_user(self, ldap_user: Any, password: str) -> User | None:
            """Close the connection, which would otherwise stay open until the next garbage collection."""
            try:
                found: User | None = super().authenticate_ldap_user(ldap_user, password)
                return found
            finally:
                if ldap_user._connection is not None:
                    with suppress(library.ldap.LDAPError):
                        ldap_user._connection.unbind_s()

    backend = Backend()
    backend.settings = import_module("django_auth_ldap.config").LDAPSettings("HEADLINE_LDAP_", _options(settings.LDAP))
    library.ldap_error.connect(_unavailable)  # connecting again changes nothing
    user: User | None = backend.authenticate(request, username=username, password=password)
    return user


def _unavailable(sender: object, exception: Exception, **values: Any) -> None:
    """Refuse instead of taking a fault of the server for a wrong password or for a lost group."""
    logger.warning("The directory failed: %r", exception)
    raise SignInRefused("provider") from exception


def _linked_user(found: Any) -> User:
    if found.attrs is None:
        raise SignInRefused("provider")
    uid = hashlib.sha256(_unique_id(found)).hexdigest()
    account = SocialAccount.objects.filter(provider=DIRECTORY, uid=uid).first()
    linked = account.user if account else None
    account = account or SocialAccount(provider=DIRECTORY, uid=uid)
    account.extra_data = {"issuer": DIRECTORY}
    identity = Identity(
        email=_first(found, "mail"),
        is_confirmed=False,
        name=_first(found, "displayName") or _first(found, "cn"),
        groups=frozenset(found.group_names),
    )
    try:
        return sign_in(identity, account, linked=linked)
    except IntegrityError as error:  # the same identity signs in twice at once for the first time
        raise SignInRefused("expired") from error


def _unique_id(found: Any) -> bytes:
    """What stays the same when the entry is renamed; without that, its name."""
    for name in ("entryUUID", "objectGUID"):
        if values := found.attrs.get(name):
            return values[0] if isinstance(values[0], bytes) else str(values[0]).encode()
    return str(found.dn).encode()


def _first(found: Any, name: str) -> str:
    return line_of((found.attrs.get(name) or [""])[0])


def _options(given: dict[str, str]) -> dict[str, Any]:
    """The settings of django-auth-ldap."""
    ldap, config = import_module("ldap"), import_module("django_auth_ldap.config")
    group_type, group_class = GROUP_TYPES[given["group_type"]]
    tls = {ldap.OPT_X_TLS_CACERTFILE: given["ca_file"]} if given["ca_file"] else {}
    tls |= {ldap.OPT_X_TLS_REQUIRE_CERT: ldap.OPT_X_TLS_DEMAND, ldap.OPT_X_TLS_NEWCTX: 0}
    timeouts = {ldap.OPT_NETWORK_TIMEOUT: TIMEOUT, ldap.OPT_TIMEOUT: TIMEOUT, ldap.OPT_REFERRALS: 0}
    attributes = ["*", "entryUUID"]
    user = {
        "USER_DN_TEMPLATE": given["user_dn"] or None,
        "USER_SEARCH": config.LDAPSearch(given["user_base"], ldap.SCOPE_SUBTREE, given["user_filter"], attributes),
        "USER_ATTRLIST": attributes,
        "BIND_AS_AUTHENTICATING_USER": bool(given["user_dn"]),
        "BIND_DN": given["bind_dn"],
        "BIND_PASSWORD": given["bind_password"],
        "ALWAYS_UPDATE_USER": False,
    }
    groups = config.LDAPSearch(given["group_base"], ldap.SCOPE_SUBTREE, f"(objectClass={group_class})")
    return {
        **user,
        "SERVER_URI": given["server"],
        "START_TLS": bool(given["start_tls"]),
        "CONNECTION_OPTIONS": timeouts | tls,
        "GROUP_SEARCH": groups,
        "GROUP_TYPE": getattr(config, group_type)(),
    }
