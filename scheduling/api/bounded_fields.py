"""Serializer fields whose size is checked before anything is done with what they hold."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import ISO_8601, serializers
from rest_framework.exceptions import ValidationError
from rest_framework.utils import humanize_datetime

from scheduling.limits import INSTANT_LENGTH, MOST_RELATED

_OF_LISTS = {"required", "help_text", "source", "default", "read_only", "allow_empty"}


class Bounded:
    """A field that says its limit as OpenAPI does."""

    limit: dict[str, int]


_IMPOSSIBLE_OFFSET = re.compile(
    r"[Tt ][\d:.,]{2,24}[+-](?:(?:1[5-9]|[2-9]\d)(?::?\d\d)?|14:?(?!00)\d\d|\d\d:?[6-9]\d)$"
)
"""Beyond 14 hours, or of more than 59 minutes, which parsers add to the hours."""


class BoundedInstantField(Bounded, serializers.DateTimeField):
    """A time whose text is short and whose offset exists."""

    limit = {"maxLength": INSTANT_LENGTH}  # noqa: RUF012 (never changed)

    def to_internal_value(self, value: Any) -> datetime:
        """The time. Raises `ValidationError`."""
        if isinstance(value, str) and (len(value) > INSTANT_LENGTH or _IMPOSSIBLE_OFFSET.search(value)):
            self.fail("invalid", format=humanize_datetime.datetime_formats([ISO_8601]))
        return super().to_internal_value(value)


class BoundedListField(serializers.ListField):
    """A list whose length is checked before its items, which DRF validates first: each may cost a query."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        self.most = max_length
        super().__init__(max_length=max_length, **options)

    def to_internal_value(self, data: Any) -> list[Any]:
        """The items. Raises `ValidationError`; of a list that is too long no item is looked at."""
        refuse_longer(data, self.most)
        values: list[Any] = super().to_internal_value(data)
        return values


class BoundedDictField(Bounded, serializers.DictField):
    """The same for an object by the number of its keys."""

    def __init__(self, *, max_length: int, **options: Any) -> None:
        self.most, self.limit = max_length, {"maxProperties": max_length}
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The values. Raises `ValidationError`; of an object with too many keys no value is looked at."""
        refuse_longer(data, self.most)
        values: dict[str, Any] = super().to_internal_value(data)
        return values


class BoundedChoicesField(Bounded, serializers.MultipleChoiceField):
    """Some of the choices; no more values than there are choices."""

    def __init__(self, choices: Any, **options: Any) -> None:
        super().__init__(choices=choices, **options)
        self.limit = {"maxItems": len(self.choices)}

    def to_internal_value(self, data: Any) -> Any:
        """The choices. Raises `ValidationError`."""
        refuse_longer(data, len(self.choices))
        return super().to_internal_value(data)


class BoundedManyRelatedField(Bounded, serializers.ManyRelatedField):
    """The same for a list of related objects."""

    def __init__(self, *, max_length: int = MOST_RELATED, **options: Any) -> None:
        self.most, self.limit = max_length, {"maxItems": max_length}
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> list[Any]:
        """The objects. Raises `ValidationError`; of a list that is too long no object is looked for."""
        refuse_longer(data, self.most)
        return list(super().to_internal_value(data))


class BoundedSlugField(Bounded, serializers.SlugRelatedField[Any]):
    """A related object by a column, whose length is checked first; with `many`, at most `most` of them."""

    most = MOST_RELATED

    @classmethod
    def many_init(cls, *args: Any, **options: Any) -> BoundedManyRelatedField:
        """The field for a list of them."""
        child = cls(*args, **{name: value for name, value in options.items() if name not in _OF_LISTS})
        of_list = {name: value for name, value in options.items() if name in _OF_LISTS}
        return BoundedManyRelatedField(child_relation=child, max_length=cls.most, **of_list)

    @property
    def limit(self) -> dict[str, int]:  # type: ignore[override]
        """Characters of the column."""
        return {"maxLength": self.max_length}

    @property
    def max_length(self) -> int:
        """Characters of the column."""
        model = self.get_queryset().model  # type: ignore[union-attr]
        return int(model._meta.get_field(self.slug_field).max_length or 0)

    def to_internal_value(self, data: Any) -> Any:
        """The object. Raises `ValidationError`; longer texts are not looked for, nor returned in the error."""
        if isinstance(data, str) and len(data) > self.max_length:
            self.fail("does_not_exist", slug_name=self.slug_field, value=f"{data[: self.max_length]}…")
        return super().to_internal_value(data)


def refuse_longer(data: Any, most: int) -> None:
    """Raise `ValidationError` for a list or an object with more than `most` items."""
    if isinstance(data, list | dict | set) and len(data) > most:
        raise ValidationError(_("Ensure this field has no more than %(most)d items.") % {"most": most}, "max_length")
