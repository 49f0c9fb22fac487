"""Display names of users."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def named(user: Any) -> str:
    """The full name, or else the username; a dash for None."""
    if user is None:
        return "—"
    return str(user.get_full_name() or user.get_username())


def named_apart(users: Iterable[Any]) -> dict[int, str]:
    """Key to name, in the order given; users with the same name have their username added."""
    names = {user: named(user) for user in users}
    counts = Counter(names.values())
    return {user.pk: name if counts[name] == 1 else f"{name} ({user.get_username()})" for user, name in names.items()}


def named_among_all(user: Any) -> str:
    """The display name of one user, with the username if another user has the same name."""
    if not user.get_full_name():
        return str(user.get_username())
    same = type(user)._default_manager.filter(first_name=user.first_name, last_name=user.last_name)
    return named_apart(same)[user.pk]
