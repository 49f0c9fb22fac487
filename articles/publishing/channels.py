"""Changing channels, whose names and descriptions readers see on every page."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from articles.audit import Actor
from articles.models import Channel, ProposedChange
from articles.review import applies, needs_second_person, propose, set_values
from scheduling.database import lock_by_ids, retried

READER_FIELDS = ("name", "slug", "description", "enabled")
"""The fields of a channel that readers notice."""


@retried
def save_channel(channel: Channel, *, by: Actor) -> None:
    """Store a new or changed channel.

    Under the two-person rule its texts are proposed; so is that readers see a new one, which is disabled until then.
    """
    if not needs_second_person():
        channel.save()
        return
    stored = Channel(enabled=False) if channel.pk is None else lock_by_ids(Channel, [channel.pk]).get()
    values = _proposed(channel, stored)
    shown = copy(channel)
    for name in values:
        setattr(shown, name, getattr(stored, name))
    shown.save()
    channel.pk = shown.pk
    propose(shown, values, name=shown.name, by=by)


def _proposed(channel: Channel, stored: Channel) -> dict[str, Any]:
    """What needs another person: nothing that hides a channel, and of a new one that it is shown at all."""
    names = READER_FIELDS if stored.pk else ("enabled",)
    values = {name: getattr(channel, name) for name in names if getattr(channel, name) != getattr(stored, name)}
    return {name: value for name, value in values.items() if name != "enabled" or value}


@applies(ProposedChange.Subject.CHANNEL, Channel, shown=READER_FIELDS)
def _apply(channel: Channel, values: Mapping[str, Any], by: Actor) -> None:
    set_values(channel, values)
    channel.save()
