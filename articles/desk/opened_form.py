"""A form of a row that others may change while it is open."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.db.models import Model
from django.http import QueryDict
from django.utils.translation import gettext

_CHOICES = (forms.MultipleChoiceField, forms.ModelMultipleChoiceField)


class OpenedChoices(forms.MultipleHiddenInput):
    """The choices that a form was opened with. An empty one says that there were none."""

    def format_value(self, value: Any) -> list[Any]:
        """The choices after the empty one."""
        return ["", *(value or ())]

    def value_from_datadict(self, *args: Any) -> list[Any]:
        """The choices without the empty one; the API has keys that are no texts."""
        return [str(value) for value in super().value_from_datadict(*args) or () if value]


class OpenedForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form with what it was opened with: what was not touched in it stays as others have left it since.

    Of several choices, such as the roles of a user, those are added and removed that were here. What was sent without
    the hidden fields, as by programs, is compared with what is stored.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        sent = not self.is_bound or any(self.add_initial_prefix(name) in self.data for name in self.fields)
        self._is_opened = self.instance.pk is not None and sent
        for field in self.fields.values():
            field.show_hidden_initial = self._is_opened
            if isinstance(field, _CHOICES):
                field.hidden_widget = OpenedChoices

    def _untouched(self) -> set[str]:
        return self.fields.keys() - {*self.changed_data} if self.instance.pk is not None else set()

    def _clean_fields(self) -> None:
        """What was not touched is what is stored, whether or not it could be sent now; only an empty one is missed."""
        super()._clean_fields()  # type: ignore[misc]
        for name in self._untouched():
            stored = self._stored(name)
            if stored not in self.fields[name].empty_values:
                self.errors.pop(name, None)
            if name not in self.errors:
                self.cleaned_data[name] = stored

    def _post_clean(self) -> None:
        """The same of the checks of the model."""
        before = {*self.errors}
        super()._post_clean()  # type: ignore[misc]
        for name in self._untouched() & self.errors.keys() - before:
            del self.errors[name]

    def clean(self) -> dict[str, Any]:
        """With the choices that others have added and removed since."""
        data = super().clean() or self.cleaned_data
        chosen = [name for name in data if isinstance(self.fields[name], _CHOICES)]
        for name in chosen if self.instance.pk is not None else ():
            self._merge(name, data)
        return data

    def _stored(self, name: str) -> Any:
        field = self.fields[name]
        is_row = isinstance(field, forms.ModelChoiceField) and not isinstance(field, forms.ModelMultipleChoiceField)
        # Of a row, the initial value is only its key.
        return getattr(self.instance, name) if is_row else self.get_initial_for_field(field, name)

    def _merge(self, name: str, data: dict[str, Any]) -> None:
        field: Any = self.fields[name]
        prefixed = self.add_initial_prefix(name)
        stored, typed = _by_key(self._stored(name) or ()), _by_key(data[name])
        sent = OpenedChoices().value_from_datadict(self.data, self.files, prefixed)
        opened = {*(sent if self._is_opened else stored)}
        removed, added = _offered(field, (opened & stored.keys()) - typed.keys()), typed.keys() - opened
        both = stored | typed
        merged = [row for key, row in both.items() if key in added or (key in stored and key not in removed)]
        if typed and not merged:  # which neither user wanted, and may stand for all
            names = stored if isinstance(field, forms.ModelMultipleChoiceField) else dict(field.choices)
            present = gettext(", ").join(str(names.get(key, key)) for key in stored) or gettext("none")
            text = gettext("Another user has changed this since: %(present)s. Choose again, and save.")
            if isinstance(self.data, QueryDict):  # of a page, whose form is opened again
                self.data = again = self.data.copy()
                again.setlist(prefixed, ["", *stored])
            self.add_error(name, forms.ValidationError(text % {"present": present}, code="conflict"))
        else:
            data[name] = merged


def _by_key(chosen: Iterable[Any]) -> dict[str, Any]:
    return {str(one.pk if isinstance(one, Model) else one): one for one in chosen}


def _offered(field: Any, keys: set[str]) -> set[str]:
    if isinstance(field, forms.ModelMultipleChoiceField):
        rows: Any = field.queryset
        return {str(pk) for pk in rows.filter(pk__in=keys).values_list("pk", flat=True)}
    return {key for key in keys if field.valid_value(key)}
