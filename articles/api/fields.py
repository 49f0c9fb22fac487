"""Serializer fields for tags and times."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.models.enums import Choices
from django.utils import timezone
from django.utils.dateparse import parse_duration
from django.utils.translation import gettext_lazy as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from articles.limits import MOST_IDS, MOST_TAGS, SPAN_LENGTH
from articles.models import Tag
from scheduling.api.bounded_fields import BoundedChoicesField, BoundedInstantField, BoundedSlugField, refuse_longer
from scheduling.database import OutOfRange, storable
from scheduling.services import rounded_up

_UNENCODED_PLUS = re.compile(r"(?<=\d) (?=\d\d:?\d\d$)", re.ASCII)


class TagField(BoundedSlugField):
    """A tag by its slug; with `many`, those of an article or a template."""

    most = MOST_TAGS

    def __init__(self, **options: Any) -> None:
        super().__init__(slug_field="slug", queryset=Tag.objects.all(), **options)


class InstantField(BoundedInstantField):
    """A time with an offset, in the years 1000 to 9999; shown in UTC."""

    default_error_messages = {  # noqa: RUF012 (extends the base's dictionary by name)
        "naive_time": _("The time has no time zone; give one with an offset, such as 2026-11-21T07:00:00+00:00."),
        "out_of_range": _("The time lies outside the years 1000 to 9999."),
    }

    def to_internal_value(self, value: Any) -> datetime:
        """The time in UTC, rounded up to microseconds. Raises `ValidationError`."""
        try:
            return rounded_up(storable(super().to_internal_value(value)), value)
        except OutOfRange:
            self.fail("out_of_range")

    def enforce_timezone(self, value: datetime) -> datetime:
        """`value` in UTC. Raises `ValidationError`."""
        if timezone.is_naive(value):
            self.fail("naive_time")
        try:
            return value.astimezone(UTC)
        except OverflowError:
            self.fail("out_of_range")


class AddressInstantField(InstantField):
    """An instant in a URL, where an unencoded plus sign arrives as a space."""

    def to_internal_value(self, value: Any) -> datetime:
        """The time in UTC. Raises `ValidationError`."""
        return super().to_internal_value(_UNENCODED_PLUS.sub("+", value))


class AtOnceField(serializers.BooleanField):
    """Whether a past time is intended; it needs the permission to publish."""

    def __init__(self, **options: Any) -> None:
        text = _(
            "Without it, a time that is past is refused. With it, what is due publishes at once, if you may publish."
        )
        super().__init__(default=False, help_text=text, **options)


@extend_schema_field({"type": "string", "maxLength": SPAN_LENGTH})
class ShiftField(serializers.DurationField):
    """A duration in an unambiguous format: "00:10" might be minutes or hours."""

    default_error_messages = {  # noqa: RUF012 (extends the base's dictionary by name)
        "invalid": _("Give a span as HH:MM:SS, such as 00:30:00 or -01:00:00, or as ISO 8601, such as PT30M or -PT1H."),
    }
    _FORMATS = re.compile(r"[+-]?\d{2,}:[0-5]\d:[0-5]\d|[+-]?P(?=.)(\d+D)?(T(?=.)(\d+H)?(\d+M)?(\d+S)?)?", re.ASCII)

    def to_internal_value(self, value: Any) -> timedelta:
        """The duration. Raises `ValidationError`."""
        if not isinstance(value, str) or len(value) > SPAN_LENGTH or not self._FORMATS.fullmatch(value):
            self.fail("invalid")
        try:
            span = parse_duration(value.removeprefix("+"))
        except OverflowError:
            span = None
        if span is None:
            self.fail("invalid")
        return span


class StatusesField(BoundedChoicesField):
    """Statuses by word, such as `published`, or by number."""

    def __init__(self, kind: type[Choices], **options: Any) -> None:
        self.words = {status.name.lower(): status.value for status in kind}
        super().__init__(choices=kind.choices, **options)

    def to_internal_value(self, data: Any) -> Any:
        """The numbers. Raises `ValidationError`."""
        refuse_longer(data, len(self.choices))
        given: Any = [self.words.get(str(one).lower(), one) for one in data]
        return super().to_internal_value(given)


@extend_schema_field(OpenApiTypes.STR)
class ArticleAddressField(serializers.CharField):
    """The address of an article on the site, of which the number counts: so a former one is known, too."""

    _PATH = re.compile(r"/article/([1-9]\d{0,17})/", re.ASCII)

    def run_validation(self, data: Any = empty) -> Any:
        """The number in a valid text; 0, which no article has, of another address."""
        found = self._PATH.search(super().run_validation(data))
        return int(found[1]) if found else 0


class NumbersField(serializers.CharField):
    """Ids, separated by commas."""

    default_error_messages = {  # noqa: RUF012 (extends the base's dictionary by name)
        "invalid": _("Give up to %(most)d ids, separated by commas."),
    }

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=MOST_IDS * len("123456789012345678,"), **options)

    def to_internal_value(self, data: Any) -> Any:
        """The ids. Raises `ValidationError`."""
        texts = super().to_internal_value(data).split(",")
        if len(texts) > MOST_IDS or not all(re.fullmatch(r"[1-9]\d{0,17}", one, re.ASCII) for one in texts):
            raise serializers.ValidationError(self.error_messages["invalid"] % {"most": MOST_IDS}, code="invalid")
        return list(map(int, texts))
