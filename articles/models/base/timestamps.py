"""When a row was created and last saved, by the database's clock.

Django's `auto_now` takes the clock of the machine, which may be wrong: other times are compared with these, and users
see them beside times of the database. Migrations have Django's fields, as the columns are the same.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import F
from django.db.models.expressions import Col, Combinable
from django.db.models.query_utils import DeferredAttribute
from django.utils.functional import cached_property

from scheduling.database import database_now

_PLAIN: models.DateTimeField[Any, datetime] = models.DateTimeField()


class _ReadLater(DeferredAttribute):
    """Reads the value that the database has set when it is asked for, also if the row was saved again before."""

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        name = self.field.attname
        expression = None if instance is None else instance.__dict__.get(name)
        if not isinstance(expression, Combinable):
            return super().__get__(instance, cls)
        if instance.pk is None:
            return None
        del instance.__dict__[name]
        try:
            return super().__get__(instance, cls)
        except instance.DoesNotExist:  # deleted, or rolled back; it may be saved again
            instance.__dict__[name] = expression
            return None

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.field.attname] = value


class _Timestamp(models.DateTimeField[Any, datetime]):
    """A time that the database sets."""

    _auto: str
    descriptor_class = _ReadLater

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, self._auto: True})

    def deconstruct(self) -> Any:
        """As Django's field."""
        name, _path, args, options = super().deconstruct()
        return name, "django.db.models.DateTimeField", args, options

    @cached_property
    def cached_col(self) -> Col:
        """As Django's field in expressions, which refuse to compare two types of fields."""
        return Col(self.model._meta.db_table, self, _PLAIN)

    def get_col(self, alias: str, output_field: Any = None) -> Col:
        """The same with another alias of the table."""
        if alias != self.model._meta.db_table and output_field in (None, self):
            output_field = _PLAIN
        return super().get_col(alias, output_field)

    def pre_save(self, instance: models.Model, add: bool) -> Any:
        """The database's clock in the statement that saves the row; the value is read on access."""
        now = instance.__dict__[self.attname] = database_now()
        return now


class CreatedAtField(_Timestamp):
    """When the row was created."""

    _auto = "auto_now_add"

    def pre_save(self, instance: models.Model, add: bool) -> Any:
        """The same for a new row; another one keeps its own, which need not be read for that."""
        if add:
            return super().pre_save(instance, add)
        value = instance.__dict__.get(self.attname)
        if value is not None and not isinstance(value, Combinable):
            return value
        stored = instance.__dict__[self.attname] = F(self.attname)
        return stored


class ChangedAtField(_Timestamp):
    """When the row was last saved. `due_since` compares it with the time of a plan."""

    _auto = "auto_now"
