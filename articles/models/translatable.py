"""Messages stored as translatable texts with their values, so that each user reads them in their own language."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from django.db import models
from django.utils.functional import Promise
from django.utils.text import Truncator
from django.utils.translation import gettext as _, gettext_lazy

from articles.models.text import LINES, TextLines

LONGEST_STORED = 500  # characters, as stored

BODY = "body"
"""The field with paragraphs."""

LABELS: Mapping[str, str | Promise] = {
    **{name: TextLines._meta.get_field(name).verbose_name for name in LINES},  # type: ignore[union-attr]
    BODY: gettext_lazy("text"),
    "tags": gettext_lazy("tags"),
    "captions": gettext_lazy("image texts"),
    "correction": gettext_lazy("correction"),
}
"""The fields of an article in which texts stand, by name."""

Word = Sequence[Any]
"""A sensitive word, its field and its paragraph (0 where there are none)."""

_MARK = "\x1e"  # begins a stored message, and is removed from the beginning of a text
_MORE = "…"


class Translatable(str):
    """Sentences in the language that was active when it was made or loaded; `str()` gives them in the active one.

    Each of its parts is a text, or a msgid with its values: numbers, texts, or the list of `words`.
    """

    parts: tuple[Any, ...]

    def __new__(cls, *parts: Any) -> Self:
        message = super().__new__(cls, " ".join(map(_translated, parts)))
        message.parts = parts
        return message

    def __str__(self) -> str:
        return " ".join(map(_translated, self.parts))

    @classmethod
    def of(cls, msgid: str, **values: int | str | Sequence[Word]) -> Self:
        """One sentence; its msgid is marked with `gettext_noop`."""
        return cls([msgid, values])

    @classmethod
    def joined(cls, texts: Iterable[str]) -> Self:
        """All sentences of these messages or texts."""
        return cls(*(part for text in texts if text for part in parts_of(text)))

    @classmethod
    def read(cls, stored: str) -> str:
        """The message or text that is stored so; as it is, if it is no message that can be read."""
        if not stored.startswith(_MARK):
            return stored
        try:
            return cls(*json.loads(stored.removeprefix(_MARK)))
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            return stored.removeprefix(_MARK)

    @property
    def stored(self) -> str:
        """For a column: a text without values as it is. What is too long is cut."""
        parts = [*self.parts]
        while len(text := _encoded(parts)) > LONGEST_STORED:
            parts = _shorter(parts)
        return text


class TranslatableField(models.CharField):  # type: ignore[type-arg]
    """A column for a text that a user has typed, or a `Translatable`."""

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        """In the language active while it is loaded."""
        return value and Translatable.read(value)

    def get_prep_value(self, value: Any) -> Any:
        """As stored, without a language."""
        return super().get_prep_value(stored_text(value))

    def deconstruct(self) -> Any:
        """As a `CharField`: the column is the same."""
        name, _path, arguments, options = super().deconstruct()
        return name, "django.db.models.CharField", arguments, options


def parts_of(text: str) -> tuple[Any, ...]:
    """The parts of a message; a text is one."""
    return text.parts if isinstance(text, Translatable) else (text,)


def names_words(part: Any) -> bool:
    """Whether a part of a message lists sensitive words."""
    return not isinstance(part, str) and "words" in part[1]


def stored_text(text: Any) -> Any:
    """A message as it is stored; a text as it is, but never like a message."""
    if isinstance(text, Translatable):
        return text.stored
    return text.lstrip(_MARK) if isinstance(text, str) else text


def place(field: str, paragraph: int = 0) -> str:
    """The name of a field and paragraph."""
    if not paragraph:
        return str(LABELS[field])
    return _("%(field)s, paragraph %(number)d") % {"field": LABELS[field], "number": paragraph}


def _encoded(parts: Sequence[Any]) -> str:
    if all(isinstance(part, str) for part in parts):
        return " ".join(parts).lstrip(_MARK)
    return _MARK + json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def _shorter(parts: Sequence[Any]) -> list[Any]:
    """The same with less at the end: some characters or a word of the last part, or without it."""
    *others, last = parts
    if isinstance(last, str):
        return [*others, Truncator(last).chars(len(last) - 20)] if len(last) > 40 or not others else others
    msgid, values = last
    words = [word for word in values.get("words", ()) if word[0] != _MORE]
    if len(words) > 1:
        return [*others, [msgid, {**values, "words": [*words[:-1], [_MORE]]}]]
    return others


def _translated(part: Any) -> str:
    if isinstance(part, str):
        return part
    msgid, values = part
    return _(msgid) % {name: _listed(value) if name == "words" else value for name, value in values.items()}


def _listed(words: Sequence[Word]) -> str:
    """Each word with its places."""
    places: dict[str, list[str]] = {}
    for word, *where in words:
        places.setdefault(word, []).extend([place(*where)] if where else [])
    # Translators: between words that were found, each with its places
    return _("; ").join(_with_places(word, where) for word, where in places.items())


def _with_places(word: str, places: Sequence[str]) -> str:
    if not places:
        return word
    return _("“%(word)s” (%(places)s)") % {"word": word, "places": _(", ").join(dict.fromkeys(places))}
