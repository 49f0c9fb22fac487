"""What the people of the newsroom are called."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def named(person: Any) -> str:
    """The full name, or the log-in name of whoever has entered none; a dash for nobody."""
    if person is None:
        return "—"
    return str(person.get_full_name() or person.get_username())


def named_apart(people: Iterable[Any]) -> dict[int, str]:
    """Key to name, in the order of `people`; those who share a name have their log-in name beside it."""
    names = {person: named(person) for person in people}
    counts = Counter(names.values())
    return {
        person.pk: name if counts[name] == 1 else f"{name} ({person.get_username()})" for person, name in names.items()
    }


def named_among_all(person: Any) -> str:
    """The same for one person, among everybody there is."""
    if not person.get_full_name():
        return str(person.get_username())
    same = type(person)._default_manager.filter(first_name=person.first_name, last_name=person.last_name)
    return named_apart(same)[person.pk]
