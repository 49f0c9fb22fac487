"""A form of a row that others may change while it is open."""

from __future__ import annotations

from typing import Any

from django import forms


class OpenedForm(forms.ModelForm):  # type: ignore[type-arg]
    """A form with what it was opened with: what was not touched in it stays as others have left it since."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for field in self.fields.values():
            field.show_hidden_initial = self.instance.pk is not None

    def clean(self) -> dict[str, Any]:
        """What is stored of the fields that were not touched."""
        data = super().clean() or self.cleaned_data
        untouched = data.keys() - {*self.changed_data} if self.instance.pk else ()
        return data | {name: self.initial.get(name) for name in untouched}
