"""Autocomplete fields that show display names of users."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest

from articles.desk.bounded import SearchedScreens
from articles.desk.parse import number_or_zero
from articles.models import named_among_all


class KnownChoice(forms.ModelChoiceField):  # type: ignore[type-arg]
    """An autocomplete choice; non-numeric input is invalid."""

    def prepare_value(self, value: Any) -> Any:
        prepared = super().prepare_value(value)
        return prepared if number_or_zero(prepared) else ""


class KnownChoices(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    """Multiple autocomplete choices."""

    def prepare_value(self, value: Any) -> Any:
        prepared = super().prepare_value(value)
        return list(filter(number_or_zero, prepared)) if isinstance(prepared, list | tuple) else []


class ChoosingScreens(SearchedScreens):
    """Mixin that makes `autocomplete_fields` robust against invalid input."""

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        if db_field.name in self.autocomplete_fields:
            options["form_class"] = KnownChoices if db_field.many_to_many else KnownChoice
        return super().formfield_for_dbfield(db_field, request, **options)


class Lookup(AutocompleteJsonView):
    """The autocomplete endpoint."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        """A result row."""
        row: dict[str, str] = super().serialize_result(obj, to_field_name)
        return {**row, "text": named_among_all(obj)} if isinstance(obj, AbstractBaseUser) else row
