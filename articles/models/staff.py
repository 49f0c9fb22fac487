"""What the people of the newsroom are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def named(user: Any) -> str:
    """The full name, or the log-in name of whoever has entered none; a dash for nobody."""
    if user is None:
        return "—"
    return str(user.get_full_name() or user.get_username())


def named_apart(users: Iterable[Any]) -> dict[int, str]:
    """Key to name, in the order of `people`; those who share a name have their log-in name beside it."""
    names = {user: named(user) for user in users}
    counts = Counter(names.values())
    return {user.pk: name if counts[name] == 1 else f"{name} ({user.get_username()})" for user, name in names.items()}


def named_among_all(user: Any) -> str:
    """The same for one person, among everybody there is."""
    if not user.get_full_name():
        return str(user.get_username())
    same = type(user)._default_manager.filter(first_name=user.first_name, last_name=user.last_name)
    return named_apart(same)[user.pk]
