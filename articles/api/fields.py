"""Values in requests."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from rest_framework import serializers

from scheduling.services import EARLIEST, LATEST


class InstantField(serializers.DateTimeField):
    """A time with an offset, in a year that every database stores; shown in UTC."""

    default_error_messages = {  # noqa: RUF012 (extends the base's dictionary by name)
        "naive_time": _("The time has no time zone; give one with an offset, such as 2026-11-21T07:00:00+00:00."),
        "out_of_range": _("The time lies outside the years 1000 to 9999."),
    }

    def to_internal_value(self, value: Any) -> datetime:
        """The time in UTC. Raises `ValidationError`; what is stored already is shown, whatever it is."""
        moment = super().to_internal_value(value)
        if not EARLIEST <= moment < LATEST:
            self.fail("out_of_range")
        return moment

    def enforce_timezone(self, value: datetime) -> datetime:
        """`value` in UTC. Raises `ValidationError`."""
        if timezone.is_naive(value):
            self.fail("naive_time")
        try:
            return value.astimezone(UTC)
        except OverflowError:
            self.fail("out_of_range")


class AddressInstantField(InstantField):
    """The same in an address, where a plus sign that nobody encoded arrives as a space."""

    def to_internal_value(self, value: Any) -> datetime:
        """The time in UTC. Raises `ValidationError`."""
        return super().to_internal_value(re.sub(r"(?<=T)(\S+) (?=\d\d:?\d\d$)", r"\1+", value))
