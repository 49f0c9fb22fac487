"""Choosing a person: the fields that look for people as one types show names, not log-in names."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.auth.base_user import AbstractBaseUser

from articles.models.people import named_among_all


class Lookup(AutocompleteJsonView):
    """What such a field asks."""

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        """A row of the answer."""
        row: dict[str, str] = super().serialize_result(obj, to_field_name)
        return {**row, "text": named_among_all(obj)} if isinstance(obj, AbstractBaseUser) else row
