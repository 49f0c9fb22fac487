"""Saving only changed fields, so that a save never reverts concurrent changes of others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, Self

from django.db import models
from django.db.models.expressions import Combinable
from django.utils import timezone

from scheduling.database import instance_of_row


class SavesOnlyChanges(models.Model):
    """A model whose `save()` writes only the fields changed since the instance was loaded, and what derives from them.

    Django writes every field. An editor who loaded an article a moment before it went live would then set it back
    to "approved" by correcting a comma.
    """

    class Meta:
        abstract = True

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **options: Any) -> None:
        """Write the changed or given fields, what derives from them, and what changes with every save.

        A new instance is written completely.
        """
        self._take_times()
        fields = self.changed_fields() if update_fields is None else frozenset(update_fields)
        derived = self.derived_values(fields)
        for name, value in derived.items():
            setattr(self, name, value)
        if update_fields is not None:
            update_fields = fields | derived.keys()
        elif not self._state.adding and not options.get("force_insert"):
            update_fields = fields | derived.keys() | self._always_saved()
        super().save(*args, update_fields=update_fields, **options)
        self._forget_expressions()
        self._remember()

    def derived_values(self, fields: frozenset[str]) -> dict[str, Any]:
        """Values of other fields that follow when these are saved; of an expression the value is read on access."""
        return {}

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **options: Any) -> Self:
        """Store the loaded values."""
        instance = instance_of_row(cls, db, field_names, values)
        instance._remember()
        return instance

    def refresh_from_db(
        self,
        using: str | None = None,
        fields: Iterable[str] | None = None,
        from_queryset: models.QuerySet[Self] | None = None,
    ) -> None:
        """Reload all or these fields, and store their values; deferred fields are loaded by this, too."""
        names = None if fields is None else list(fields)
        super().refresh_from_db(using=using, fields=names, from_queryset=from_queryset)
        self._remember(names)

    def changed_fields(self, *, since: Mapping[str, Any] | None = None) -> frozenset[str]:
        """Names of the fields that differ from what was loaded or last saved, or `since` it had these values."""
        loaded = self.__dict__.get("_loaded", {}) if since is None else since
        present = self.__dict__
        return frozenset(
            field.name
            for field in self._meta.concrete_fields
            if field.attname in present
            and not field.primary_key
            and not field.generated
            and (field.attname not in loaded or loaded[field.attname] != present[field.attname])
        )

    def loaded_values(self) -> dict[str, Any]:
        """The values as they were loaded or last saved; none of a new instance."""
        return dict(self.__dict__.get("_loaded", {}))

    def snapshot(self) -> dict[str, Any]:
        """Its values and the stored ones, to retry a save that was rolled back."""
        return {**self.__dict__, "_loaded": self.loaded_values()}

    def as_loaded(self, name: str) -> Any:
        """The value of a field as it was loaded or last saved; the present one of a new instance."""
        return self.__dict__.get("_loaded", self.__dict__).get(name, self.__dict__.get(name))

    def _take_times(self) -> None:
        """The times as they are stored: other code may give them without a zone or as text, as Django takes them."""
        for field in self._meta.concrete_fields:
            value = self.__dict__.get(field.attname) if isinstance(field, models.DateTimeField) else None
            is_taken = isinstance(value, datetime) and timezone.is_aware(value)
            if value is not None and not is_taken and not isinstance(value, Combinable):
                setattr(self, field.attname, field.get_prep_value(value))

    @classmethod
    def _always_saved(cls) -> frozenset[str]:
        return frozenset(field.name for field in cls._meta.concrete_fields if getattr(field, "auto_now", False))

    def _forget_expressions(self) -> None:
        """Defer a field that was set to an expression, so that its value is read on access."""
        for name, value in list(self.__dict__.items()):
            if isinstance(value, Combinable):
                del self.__dict__[name]

    def take_set_by_database(self, stored: Self) -> None:
        """Take the values that the database has set, by its clock, from the row as it was read after the save."""
        for field in self._meta.concrete_fields:
            name, value = field.attname, self.__dict__.get(field.attname)
            if not field.generated and (name not in self.__dict__ or isinstance(value, Combinable)):
                self.__dict__[name] = stored.__dict__[name]
                self.remember(name, stored.__dict__[name])

    def remember(self, name: str, value: Any) -> None:
        """Note that this field is stored with this value."""
        self.__dict__.setdefault("_loaded", {})[name] = value

    def _remember(self, fields: Collection[str] | None = None) -> None:
        names: Collection[str] = _columns(type(self))
        if fields is not None:
            wanted = set(fields)
            names = {one.attname for one in self._meta.concrete_fields if {one.name, one.attname} & wanted}
        loaded = {name: value for name, value in self.__dict__.items() if name in names}
        self.__dict__["_loaded"] = loaded if fields is None else {**self.__dict__.get("_loaded", {}), **loaded}


@cache
def _columns(model: type[models.Model]) -> frozenset[str]:
    return frozenset(field.attname for field in model._meta.concrete_fields)
