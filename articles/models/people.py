"""What the people of the newsroom are called."""

from __future__ import annotations

from typing import Any


def named(person: Any) -> str:
    """The full name, or the log-in name of whoever has entered none; a dash for nobody."""
    if person is None:
        return "—"
    return str(person.get_full_name() or person.get_username())
