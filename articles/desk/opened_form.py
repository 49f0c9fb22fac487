"""A form of a row that others may change while it is open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import Model


class OpenedChoices(forms.MultipleHiddenInput):
    """The choices that a form was opened with. An empty one says that there were none."""

    def format_value(self, value: Any) -> list[Any]:
        """The choices after the empty one."""
        return ["", *(value or ())]

    def value_from_datadict(self, *args: Any) -> list[Any]:
        """The choices without the empty one."""
        return [value for value in super().value_from_datadict(*args) or () if value]


class OpenedForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form with what it was opened with: what was not touched in it stays as others have left it since.

    Of rows that are chosen, such as the roles of a user, those are added and removed that were here. What was sent
    without the hidden fields, as by programs, is compared with what is stored.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        sent = not self.is_bound or any(self.add_initial_prefix(name) in self.data for name in self.fields)
        self._is_opened = self.instance.pk is not None and sent
        for field in self.fields.values():
            field.show_hidden_initial = self._is_opened
            if isinstance(field, forms.MultipleChoiceField | forms.ModelMultipleChoiceField):
                field.hidden_widget = OpenedChoices

    def clean(self) -> dict[str, Any]:
        """What is stored of the fields that were not touched."""
        data = super().clean() or self.cleaned_data
        if self.instance.pk is None:
            return data
        untouched = data.keys() - {*self.changed_data}
        return {name: self._stored(name) if name in untouched else self._merged(name, data[name]) for name in data}

    def _stored(self, name: str) -> Any:
        field = self.fields[name]
        is_row = isinstance(field, forms.ModelChoiceField) and not isinstance(field, forms.ModelMultipleChoiceField)
        # Of a row, the initial value is only its key.
        return getattr(self.instance, name) if is_row else self.get_initial_for_field(field, name)

    def _merged(self, name: str, chosen: Any) -> Any:
        """The chosen rows, without those that others removed and with those that they added since."""
        if not self._is_opened or not isinstance(self.fields[name], forms.ModelMultipleChoiceField):
            return chosen
        opened = {*OpenedChoices().value_from_datadict(self.data, self.files, self.add_initial_prefix(name))}
        stored, typed = _by_key(self._stored(name) or ()), _by_key(chosen)
        removed, added = opened - typed.keys(), typed.keys() - opened
        return [row for key, row in (stored | typed).items() if key in added or (key in stored and key not in removed)]


def _by_key(rows: Iterable[Model]) -> dict[str, Model]:
    return {str(row.pk): row for row in rows}
