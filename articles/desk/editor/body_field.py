"""The form field for an article's text: HTML, written in a rich-text editor and cleaned on the server."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from unfold.widgets import UnfoldAdminTextareaWidget

from articles.desk.editor.editor_texts import EDITOR_WORDS
from articles.text import add_paragraphs, clean_html

_BETWEEN_BLOCKS = re.compile(r"(?<=>)\s*\n\s*(?=<)")
_EMPTY_END = re.compile(r"(?:<p>\s*</p>\s*)+$")


class BodyWidget(UnfoldAdminTextareaWidget):
    """A text area that `articles/editor/main.js` makes an editor of; without JavaScript it stays a text area of HTML.

    A new button of the toolbar is a Tiptap extension in a module of its own: name the module in
    `articles.desk.editor.assets` and list its extension in `main.js`.
    """

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Adds what the editor is told: its texts, and what the addresses of players look like."""
        told = {
            "words": EDITOR_WORDS,
            "embeds": [{"name": name, "address": address} for name, address, _player in settings.EMBEDS],
        }
        return super().get_context(name, value, {**(attrs or {}), "data-editor": DjangoJSONEncoder().encode(told)})


class BodyField(forms.CharField):
    """HTML that is safe to show. Text without any mark-up is welcome, and stays as it is until somebody edits it."""

    widget = BodyWidget

    def prepare_value(self, value: Any) -> Any:
        """What the editor is given holds nothing that a browser would run."""
        return clean_html(add_paragraphs(value)) if isinstance(value, str) else value

    def to_python(self, value: Any) -> str:
        """Cleaned, unless it is refused for its length anyway; what cleaning takes out, the form tells."""
        text = super().to_python(value) or ""
        return text if self.max_length and len(text) > self.max_length else clean_html(text)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether readers would notice."""
        return as_shown(initial or "") != as_shown(data or "")


def as_shown(body: str) -> str:
    """As readers see it, without what some editors put and others do not: line ends between blocks, an empty end."""
    return _EMPTY_END.sub("", _BETWEEN_BLOCKS.sub("", clean_html(add_paragraphs(body))))
