"""Mentions of users in a note: `@` and the username."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.utils.functional import cached_property
from django.utils.translation import gettext as _

from articles.exceptions import TooMany, WithoutAccess
from articles.limits import MOST_MENTIONS
from articles.models import named
from articles.permissions import newsroom

_MENTION = re.compile(r"(?<![A-Za-z0-9_.+-])@([\w.@+-]{1,150})")
"""An `@` that is not inside an address, and the longest text that can be a username."""


@dataclass(frozen=True)
class Users:
    """Users by their usernames in lower case."""

    by_name: Mapping[str, Any]

    @cached_property
    def longest(self) -> int:
        """The length of the longest username."""
        return max(map(len, self.by_name), default=0)


@dataclass(frozen=True)
class Part:
    """Some text of a note, or the mention of a user."""

    text: str
    user: Any = None


def mentioned_users(texts: Iterable[str]) -> Users:
    """The existing users whom these texts mention, in two queries."""
    written = [match[1] for text in texts for match in _MENTION.finditer(text)]
    if not written:
        return Users({})
    known = all_usernames()
    names = {known.by_name[name] for one in written if (name := _name_in(one, known)) is not None}
    found = get_user_model()._default_manager.in_bulk(names, field_name="username")
    return Users({user.get_username().lower(): user for user in found.values()})


def all_usernames() -> Users:
    """The usernames of all users: of a few notes there are more texts that could be one than a query can name."""
    names = get_user_model()._default_manager.values_list("username", flat=True)
    return Users({name.lower(): name for name in names})


def parts_of(text: str, users: Users) -> Iterator[Part]:
    """The text of a note in parts: what is between the mentions, and the mentions."""
    place = 0
    for match in _MENTION.finditer(text):
        if (name := _name_in(match[1], users)) is not None:
            yield Part(text[place : match.start()])
            place = match.start() + 1 + len(name)
            yield Part(text[match.start() : place], users.by_name[name])
    yield Part(text[place:])


def new_mentions(text: str, *, before: str = "") -> Collection[Any]:
    """The users mentioned in a text and not `before`.

    Raises `WithoutAccess` if one may not see the article, and `TooMany`: each mention is shown with a name.
    """
    users = mentioned_users([text, before])
    found, known = ([part.user for part in parts_of(each, users) if part.user] for each in (text, before))
    if len(found) > MOST_MENTIONS:
        raise TooMany(_("A note has at most %(most)d mentions.") % {"most": MOST_MENTIONS})
    new = {*found} - {*known}
    allowed = set(newsroom().filter(pk__in=[user.pk for user in new]).values_list("pk", flat=True))
    if refused := sorted(named(user) for user in new if user.pk not in allowed):
        raise WithoutAccess(refused)
    return new


def _name_in(written: str, users: Users) -> str | None:
    """The username that the text after an `@` begins with, in lower case."""
    return next((name for name in _possible_names(written, users.longest) if name in users.by_name), None)


def _possible_names(written: str, longest: int) -> Iterator[str]:
    """The beginnings of a text that can be a username, longest first.

    Chinese has no spaces, so a name may end before any character but in the middle of a Latin word or number.
    """
    for end in range(min(len(written), longest), 0, -1):
        if not (end < len(written) and _is_latin(written[end - 1]) and _is_latin(written[end])):
            yield written[:end].lower()


def _is_latin(character: str) -> bool:
    return character == "_" or (character.isascii() and character.isalnum())
