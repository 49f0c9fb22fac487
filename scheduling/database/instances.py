"""Model instances of loaded rows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from django.db import models
from django.db.models.base import ModelState
from django.db.models.signals import post_init, pre_init

M = TypeVar("M", bound=models.Model)


def instance_of_row(model: type[M], db: str | None, field_names: Collection[str], values: Collection[Any]) -> M:
    """What `Model.from_db` returns, but without `__init__`, which takes most of the time for many rows.

    Unless there are receivers of its signals.
    """
    if _has_receivers(model):
        return models.Model.from_db.__func__(model, db, field_names, values)  # type: ignore[attr-defined,no-any-return]
    instance = model.__new__(model)
    instance._state = ModelState()
    instance._state.adding, instance._state.db = False, db
    instance.__dict__.update(zip(field_names, values, strict=True))
    return instance


def _has_receivers(model: type[models.Model]) -> bool:
    """Mostly there are none at all, which takes less time to see than who receives the signals of this model."""
    return bool(pre_init.receivers or post_init.receivers) and (
        pre_init.has_listeners(model) or post_init.has_listeners(model)
    )
