"""A time of the last change by which other times are decided."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models.expressions import Col
from django.utils.functional import cached_property

from scheduling.database import read_database_clock

_PLAIN: models.DateTimeField[Any, datetime] = models.DateTimeField()


class ChangedAtField(models.DateTimeField[Any, datetime]):
    """When the row was last saved, by the database's clock; `auto_now` takes that of the machine, which may be wrong.

    `due_since` compares it with the time of a plan. Migrations have Django's field, as the column is the same.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{**options, "auto_now": True})

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

    def pre_save(self, instance: models.Model, add: bool) -> datetime:
        """The present of the database."""
        moment = read_database_clock()
        setattr(instance, self.attname, moment)
        return moment
