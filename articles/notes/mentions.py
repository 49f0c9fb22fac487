"""Mentions of users in a note: `@` and the username."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models.functions import Lower

from articles.exceptions import WithoutAccess
from articles.models import named
from articles.permissions import newsroom

_MENTION = re.compile(r"(?<![A-Za-z0-9_.+-])@([\w.@+-]{1,150})")
"""An `@` that is not inside an address, and the longest text that can be a username."""

Users = Mapping[str, Any]
"""Users by their usernames in lower case."""


@dataclass(frozen=True)
class Part:
    """Some text of a note, or the mention of a user."""

    text: str
    user: Any = None


def mentioned_users(texts: Iterable[str]) -> Users:
    """The existing users whom these texts mention, in one query."""
    names = {name for text in texts for match in _MENTION.finditer(text) for name in _possible_names(match[1])}
    users = get_user_model()._default_manager.annotate(lower_name=Lower("username"))
    return {user.get_username().lower(): user for user in users.filter(lower_name__in=names)} if names else {}


def parts_of(text: str, users: Users) -> Iterator[Part]:
    """The text of a note in parts: what is between the mentions, and the mentions."""
    place = 0
    for match in _MENTION.finditer(text):
        if (name := _name_in(match[1], users)) is not None:
            yield Part(text[place : match.start()])
            place = match.start() + 1 + len(name)
            yield Part(text[match.start() : place], users[name])
    yield Part(text[place:])


def new_mentions(text: str, *, before: str = "") -> Collection[Any]:
    """The users mentioned in a text and not `before`. Raises `WithoutAccess` if one may not see the article."""
    users = mentioned_users([text, before])
    found, known = ({part.user for part in parts_of(each, users) if part.user} for each in (text, before))
    new = found - known
    allowed = set(newsroom().filter(pk__in=[user.pk for user in new]).values_list("pk", flat=True))
    if refused := sorted(named(user) for user in new if user.pk not in allowed):
        raise WithoutAccess(refused)
    return new


def _name_in(written: str, users: Users) -> str | None:
    """The username that the text after an `@` begins with, in lower case."""
    return next((name for name in _possible_names(written) if name in users), None)


def _possible_names(written: str) -> Iterator[str]:
    """The beginnings of a text that can be a username, longest first.

    Chinese has no spaces, so a name may end before any character but in the middle of a Latin word or number.
    """
    for end in range(len(written), 0, -1):
        if not (end < len(written) and _is_latin(written[end - 1]) and _is_latin(written[end])):
            yield written[:end].lower()


def _is_latin(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())
