"""Form field for cover images, with the picker dialog that the editor shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.forms.widgets import Script
from js_asset import Media

from articles.models import Image


class CoverWidget(forms.Widget):
    """The chosen images, a button, and the picker."""

    template_name = "articles/desk/images/cover.html"
    use_fieldset = True

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Adds the images."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        return {**context, "chosen": Image.objects.named(value or []), "value": ",".join(map(str, value or []))}

    def format_value(self, value: Any) -> Any:
        return value

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[str] | None:
        """The IDs, sent as one text."""
        return [pk for pk in str(data[name]).split(",") if pk] if name in data else None

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        """Whether the form had no such field."""
        return name not in data

    @property
    def media(self) -> forms.Media:
        names = ("upload", "picker", "cover", "focal_point")
        scripts = [Script(f"articles/images/{name}.js", defer=True) for name in names]
        return cast(forms.Media, Media(css={"all": ["articles/images/images.css"]}, js=scripts))


class CoverField(forms.Field):
    """Image IDs; existence and number are validated by the services."""

    widget = CoverWidget

    def to_python(self, value: Any) -> list[str]:
        return list(value or [])

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether images or their order changed; an omitted field has not."""
        return data is not None and list(initial or []) != list(data)
