"""Applying a user's time zone and language."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.utils import timezone, translation

from articles.audit import Actor
from articles.models import Preferences


@contextmanager
def speaking_to(user: Actor | None) -> Iterator[None]:
    """Use this user's time zone and language in this block, if chosen."""
    chosen = Preferences.objects.filter(pk=user.pk).first() if user and user.pk else None
    with ExitStack() as stack:
        if chosen and (zone := zone_named(chosen.time_zone)):
            stack.enter_context(timezone.override(zone))
        if chosen and chosen.language:
            stack.enter_context(translation.override(chosen.language))
        yield


def zone_named(name: str) -> ZoneInfo | None:
    """The time zone of this name; None without a name or for an unknown one."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a directory of zones, or a name too long for a file
        return None


def choose_language(user: Actor, language: str) -> None:
    """Store the user's language."""
    Preferences.objects.update_or_create(pk=user.pk, defaults={"language": language})
