"""The form field for an article's cover: pictures chosen in a dialog, which the editor of the text opens, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from django import forms
from django.forms.widgets import Script
from js_asset import Media

from articles.models import Image


class CoverWidget(forms.Widget):
    """The chosen pictures, a button that opens the picker, and the picker itself."""

    template_name = "articles/desk/images/cover.html"
    use_fieldset = True

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Adds the pictures themselves."""
        context: dict[str, Any] = super().get_context(name, value, attrs)
        return {**context, "chosen": Image.objects.named(value or []), "value": ",".join(map(str, value or []))}

    def format_value(self, value: Any) -> Any:
        """A list stays one."""
        return value

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> list[str] | None:
        """The ids, which the browser sends as one text."""
        return [pk for pk in str(data[name]).split(",") if pk] if name in data else None

    def value_omitted_from_data(self, data: Mapping[str, Any], files: Any, name: str) -> bool:
        """Whether the form that was sent had no such field."""
        return name not in data

    @property
    def media(self) -> forms.Media:
        """The scripts of the picker, of uploads in it, and of the cover."""
        scripts = [Script(f"articles/images/{name}.js", defer=True) for name in ("upload", "picker", "cover")]
        return cast(forms.Media, Media(css={"all": ["articles/images/images.css"]}, js=scripts))


class CoverField(forms.Field):
    """The ids of pictures; whether they exist and are as many as they should be, the services say."""

    widget = CoverWidget

    def to_python(self, value: Any) -> list[str]:
        """None is an empty list."""
        return list(value or [])

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether other pictures were chosen, or another order; a form without the field says nothing."""
        return data is not None and list(initial or []) != list(data)
