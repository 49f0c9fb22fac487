"""Values in requests."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

EARLIEST = datetime(1000, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 12, 31, tzinfo=UTC)


class InstantField(serializers.DateTimeField):
    """A time with an offset, in a year that every database stores; shown in UTC."""

    default_error_messages = {  # noqa: RUF012 (extends the base's dictionary by name)
        "naive_time": _("The time has no time zone; give one with an offset, such as 2026-11-21T07:00:00+00:00."),
        "out_of_range": _("The time lies outside the years 1000 to 9999."),
    }

    def enforce_timezone(self, value: datetime) -> datetime:
        """`value` in UTC. Raises `ValidationError`."""
        if timezone.is_naive(value):
            self.fail("naive_time")
        try:
            moment = value.astimezone(UTC)
        except OverflowError:
            self.fail("out_of_range")
        if not EARLIEST <= moment < LATEST:
            self.fail("out_of_range")
        return moment
