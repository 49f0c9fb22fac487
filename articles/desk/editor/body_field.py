"""Form field for article bodies: HTML from a rich-text editor, sanitised on the server."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from unfold.widgets import UnfoldAdminTextareaWidget

from articles.desk.editor.editor_texts import EDITOR_TEXTS
from articles.text import add_paragraphs, clean_html, is_kept_if_refused, join_blocks, oversize, remembered

_EMPTY_PARAGRAPHS = re.compile(r"(?:\s*+>p/<\s*+>p<)*")
"""Backwards, because forwards each empty paragraph would be the start of a new search."""

_TAGS_AND_LINES = re.compile(r"<[^<>]*+>?|[\r\n]")


class BodyWidget(UnfoldAdminTextareaWidget):
    """A text area that `articles/editor/main.js` turns into a rich-text editor; without JavaScript it takes HTML.

    A new button of the toolbar is a Tiptap extension in a module of its own: name the module in
    `articles.desk.editor.assets` and list its extension in `main.js`.
    """

    def get_context(self, name: str, value: Any, attrs: dict[str, Any] | None) -> dict[str, Any]:
        """Adds the editor's settings: texts and the URL patterns of embedded players."""
        data = {
            "texts": EDITOR_TEXTS,
            "embeds": [{"name": name, "address": address} for name, address, _player in settings.EMBEDS],
        }
        return super().get_context(name, value, {**(attrs or {}), "data-editor": DjangoJSONEncoder().encode(data)})


class BodyFormField(forms.CharField):
    """HTML that is safe to show. Plain text is accepted and stays unchanged until it is edited."""

    widget = BodyWidget

    def prepare_value(self, value: Any) -> Any:
        """Sanitised HTML for the editor."""
        return clean_html(add_paragraphs(value)) if isinstance(value, str) else value

    def to_python(self, value: Any) -> str:
        """Sanitised, unless it is too large, which the form refuses; the form reports what was removed."""
        text = super().to_python(value) or ""
        return text if oversize(text) else clean_html(text)

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What was typed; its words alone if it would take too long to sanitise."""
        return data if is_kept_if_refused(data or "") else _TAGS_AND_LINES.sub(" ", data)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Whether the visible text differs; of one that is too large, whether it does at all."""
        if not is_kept_if_refused(data or ""):
            return not oversize(initial or "") or data.replace("\r\n", "\n") != self.prepare_value(initial)
        return as_shown(initial or "") != as_shown(data or "")


@remembered
def as_shown(body: str) -> str:
    """Normalised HTML: without line ends between blocks and trailing empty paragraphs."""
    body = join_blocks(clean_html(add_paragraphs(body)))
    empty = _EMPTY_PARAGRAPHS.match(body[::-1])
    return body[: len(body) - empty.end()] if empty else body
