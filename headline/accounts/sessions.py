"""The sessions of a user: listed with browser and address, and ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.account.internal.stagekit import LOGIN_SESSION_KEY
from allauth.account.utils import user_pk_to_url_str
from allauth.usersessions.models import UserSession
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone
from django.utils.translation import gettext as _

from articles.audit import (
    Action,
    record_beside,
)
from articles.text import format_time_briefly
from headline.accounts.address import UNKNOWN_ADDRESS

_BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari"))
_SYSTEMS = (
    *(("Windows", "Windows"), ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad")),
    *(("Mac OS", "macOS"), ("Linux", "Linux")),
)


@dataclass(frozen=True)
class OpenSession:
    """One row of the list."""

    id: int
    key: str
    device: str
    address: str
    used: datetime

    @property
    def used_text(self) -> str:
        """The time of the last use, briefly."""
        return format_time_briefly(self.used)


def sessions_of(user: User) -> list[OpenSession]:
    """The user's sessions, the latest first."""
    rows = sorted(UserSession.objects.purge_and_list(user), key=lambda row: row.last_seen_at, reverse=True)
    return [
        OpenSession(
            id=row.pk,
            key=row.session_key,
            device=device_of(row.user_agent),
            address="" if row.ip == UNKNOWN_ADDRESS else row.ip,
            used=row.last_seen_at,
        )
        for row in rows
    ]


def device_of(user_agent: str) -> str:
    """Browser and system in words, as far as they are known."""
    products = [re.split(r"\W", before)[-1] for before in user_agent.split("/")[:-1]]
    browser = next((name for token, name in _BROWSERS if any(token in product for product in products)), "")
    system = next((name for token, name in _SYSTEMS if token in user_agent), "")
    if browser and system:
        return _("%(browser)s on %(system)s") % {"browser": browser, "system": system}
    return browser or system or _("Unknown browser")


def end_session(user: User, session: int) -> None:
    """End one session of the user, if it is open."""
    for row in UserSession.objects.filter(user=user, pk=session):
        row.end()
        record_beside(Action.END_SESSIONS, title=user.get_username(), count=1)


def end_sessions(user: User, *, except_key: str | None = None) -> int:
    """End the user's sessions, also those that are in no list or wait for a second factor; the number."""
    keys = [
        key
        for key, data in _open_sessions()
        if key != except_key and (data.get(SESSION_KEY) == str(user.pk) or _awaits_code(data, user))
    ]
    Session.objects.filter(pk__in=keys).delete()
    UserSession.objects.filter(user=user).exclude(session_key=except_key or "").delete()
    if keys:
        record_beside(Action.END_SESSIONS, title=user.get_username(), count=len(keys))
    return len(keys)


def end_unfinished_sign_ins(user: User) -> None:
    """End the sign-ins of the user that wait for a second factor."""
    Session.objects.filter(pk__in=[key for key, data in _open_sessions() if _awaits_code(data, user)]).delete()


def _open_sessions() -> Iterator[tuple[str, dict[str, Any]]]:
    for session in Session.objects.filter(expire_date__gt=timezone.now()):
        yield session.session_key, session.get_decoded()


def _awaits_code(data: dict[str, Any], user: User) -> bool:
    return bool(data.get(LOGIN_SESSION_KEY, {}).get("user_pk") == user_pk_to_url_str(user))
