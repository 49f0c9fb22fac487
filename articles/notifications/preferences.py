"""Speaking to a person in the zone and the language that this person chose."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils import timezone, translation

from articles.audit import Actor
from articles.models import Preferences


@contextmanager
def speaking_to(user: Actor | None) -> Iterator[None]:
    """In this block times are in this person's zone and texts in this person's language, where they were chosen."""
    chosen = Preferences.objects.filter(pk=user.pk).first() if user and user.pk else None
    with ExitStack() as stack:
        if chosen and (zone := zone_named(chosen.time_zone)):
            stack.enter_context(timezone.override(zone))
        if chosen and chosen.language:
            stack.enter_context(translation.override(chosen.language))
        yield


def zone_named(name: str) -> ZoneInfo | None:
    """The zone; None for no name and for one that is not known (any more)."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def choose_language(user: Actor, language: str) -> None:
    """From now on the screens speak this language to this person."""
    Preferences.objects.update_or_create(pk=user.pk, defaults={"language": language})
