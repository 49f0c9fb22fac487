"""Debug mode and secret keys: a start needs either DJANGO_DEBUG on local hosts or a secret key."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import ip_address
from typing import Any

from headline import env
from headline.env import WrongEnvironment

PASSWORD_RULES: dict[str, dict[str, Any]] = {
    "UserAttributeSimilarity": {},
    "MinimumLength": {"min_length": 10},
    "CommonPassword": {},
    "NumericPassword": {},
}
"""Django's validators of new passwords, with their options."""

_KEY, _DEBUG = "DJANGO_SECRET_KEY", "DJANGO_DEBUG"
_TRIAL_KEY = "insecure-key-for-development-on-one-machine-only"
_LOCAL_NAMES = ("localhost", "local", "test", "internal")


def debug(*, site_host: str, hosts: Collection[str]) -> bool:
    """Whether debug mode is on; refused for public hosts. Raises `WrongEnvironment`."""
    wanted = env.flag(_DEBUG, default=False)
    if wanted and (public := next(filter(_is_public, [site_host, *hosts]), None)):
        remedy = f"unset it and set {_KEY} to a long random text, or leave SITE_URL and DJANGO_ALLOWED_HOSTS local"
        raise WrongEnvironment(_DEBUG, f"is on for the public host {public!r}", remedy)
    return wanted


def secret_keys(*, debug: bool) -> tuple[str, list[str]]:
    """The signing key, and earlier keys whose signatures are still valid. Raises `WrongEnvironment`."""
    key = env.text(_KEY)
    if not key and not debug:
        remedy = f"set it to a long random text, or set {_DEBUG}=on to try Headline out on this machine"
        raise WrongEnvironment(_KEY, "is missing", remedy)
    if key == _TRIAL_KEY and not debug:
        raise WrongEnvironment(_KEY, "is the key of Headline's source code", "set it to a long random text of your own")
    return key or _TRIAL_KEY, env.names("DJANGO_SECRET_KEY_FALLBACKS")


def _is_public(host: str) -> bool:
    """Whether the host is public; names of one machine or a private network are not."""
    name = host.strip(".[]").lower()
    try:
        return not ip_address(name).is_private
    except ValueError:
        return name == "*" or ("." in name and name.rpartition(".")[2] not in _LOCAL_NAMES)
