"""Model instances of loaded rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from django.db import models
from django.db.models.base import ModelState

M = TypeVar("M", bound=models.Model)


def instance_of_row(model: type[M], db: str | None, field_names: Collection[str], values: Collection[Any]) -> M:
    """What `Model.from_db` returns, without `__init__` and its signals, which take most of the time for many rows."""
    instance = model.__new__(model)
    instance._state = ModelState()
    instance._state.adding, instance._state.db = False, db
    instance.__dict__.update(zip(field_names, values, strict=True))
    return instance
