"""A column that the database computes, and that an instance computes as well."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.expressions import Combinable


class ComputedField(models.GeneratedField):
    """A column that is stored in indexes only, not in the row: adding it neither rewrites nor locks the table, and it
    is right whatever writes the row.

    A subclass has a `descriptor_class` that computes the value of an instance.
    """

    db_returning = False  # type: ignore[assignment]  # the instance computes it, too

    def __init__(self, expression: Combinable, output_field: models.Field[Any, Any], **options: Any) -> None:
        options |= {"expression": expression, "output_field": output_field}
        super().__init__(**{**options, "null": True}, db_persist=False)  # null: for the SQL of negated conditions

    def deconstruct(self) -> Any:
        """As Django's own field, so that migrations do not depend on this class."""
        name, _path, args, options = super().deconstruct()
        options.setdefault("db_persist", False)
        return name, "django.db.models.GeneratedField", args, options

    def clone(self) -> Any:
        """A copy; the expression and its type are the subclass's."""
        options = self.deconstruct()[3]
        return type(self)(
            **{key: options[key] for key in options.keys() - {"expression", "output_field", "db_persist"}}
        )
