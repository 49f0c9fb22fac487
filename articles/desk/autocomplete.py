"""Choosing from many: the fields that look as one types. They show people's names, not log-in names."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest
from unfold.admin import ModelAdmin

from articles.desk.parse_int import whole_number
from articles.models import named_among_all


class KnownChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    """One of many; what is no number is refused, and shown as nothing chosen."""

    def prepare_value(self, value: Any) -> Any:
        """For the widget, which looks it up."""
        prepared = super().prepare_value(value)
        return prepared if whole_number(prepared) else ""


class KnownChoices(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Several of many, in the same way."""

    def prepare_value(self, value: Any) -> Any:
        """For the widget, which looks them up."""
        prepared = super().prepare_value(value)
        return list(filter(whole_number, prepared)) if isinstance(prepared, list | tuple) else []


class ChoosingScreens(ModelAdmin):
    """Adds to a form that its `autocomplete_fields` stand whatever is sent."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """The field of the form."""
        if db_field.name in self.autocomplete_fields:
            options["form_class"] = KnownChoices if db_field.many_to_many else KnownChoice
        return super().formfield_for_dbfield(db_field, request, **options)


class Lookup(AutocompleteJsonView):
    """What such a field asks."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        """A row of the answer."""
        row: dict[str, str] = super().serialize_result(obj, to_field_name)
        return {**row, "text": named_among_all(obj)} if isinstance(obj, AbstractBaseUser) else row
