"""Recovered drafts: what a user typed in windows that are closed, where it differs from what is stored."""

from __future__ import annotations

from dataclasses import dataclass
from os.path import commonprefix
from typing import Any
from uuid import UUID

from django.forms import ModelForm
from django.http import HttpRequest
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from articles.desk.editor.autosave import autosave_url, window_shown
from articles.models import LINES, Article, Autosave, Text
from articles.publishing import prune_autosaves
from articles.text import format_time, plain_text

_EXAMINED = 20
"""Drafts that are compared, latest first."""
_OFFERED = 5
_SHOWN = 60  # characters of a difference
_CONTEXT = 15  # of them at most before what differs, so that it begins with a word
_TEXTS = frozenset({*LINES, "body"})
_TECHNICAL = frozenset({"seen", "base"})


@dataclass(frozen=True)
class ChangedField:
    """A field that was changed, and for a text its first changed words."""

    name: str
    label: str
    words: str


@dataclass(frozen=True)
class RecoveredDraft:
    """A draft that can be restored."""

    window: UUID
    when: str
    address: str
    differences: list[ChangedField]

    @property
    def texts(self) -> list[ChangedField]:
        """The changed texts."""
        return [one for one in self.differences if one.words]

    @property
    def others(self) -> list[str]:
        """The labels of other changed fields, such as times."""
        return [one.label for one in self.differences if not one.words]


def recovered_drafts(
    request: HttpRequest, article: Article | None, form: type[ModelForm[Article]]
) -> list[RecoveredDraft]:
    """The drafts of other windows that differ from what is stored, latest first.

    Older ones only for a text of their own. `form` is the class of the form that would restore them.
    """
    prune_autosaves()
    left = Autosave.objects.left_by(request.user, article).exclude(pk=window_shown(request, article))
    found: dict[Any, RecoveredDraft] = {}
    for draft in left[:_EXAMINED]:
        differences = _differences(draft, article.pk if article else None, form)
        text = tuple(sorted((one.name, *draft.typed.get(one.name, ())) for one in differences if one.words))
        if differences and text not in found and (text or not found):
            found[text] = RecoveredDraft(draft.pk, format_time(draft.saved_at), autosave_url(draft.pk), differences)
    return list(found.values())[:_OFFERED]


def _differences(draft: Autosave, article_id: int | None, form: type[ModelForm[Article]]) -> list[ChangedField]:
    """What was typed in the draft: unlike what is stored, and unlike the revision that the form began with."""
    article = Article.objects.select_related("update").get(pk=article_id) if article_id else None
    now = _filled(form, draft, article)
    changed = set(now.changed_data) - _TECHNICAL
    base = _base_of(draft, article)
    if base is not None:
        began = _filled(form, draft, article, initial=base)
        changed -= Text.NAMES - set(began.changed_data)
    return [
        ChangedField(name, str(field.label), _words(now, name))
        for name, field in now.fields.items()
        if name in changed and not field.widget.value_omitted_from_data(now.data, MultiValueDict(), name)
    ]


def _filled(
    form: type[ModelForm[Article]], draft: Autosave, article: Article | None, initial: dict[str, Any] | None = None
) -> ModelForm[Article]:
    """The form as the draft would send it."""
    plain: Any = type(form.__name__, (form,), {"restored": None, "refusal": None})
    plain.base_fields = form.base_fields  # without those that this user may not set
    filled: ModelForm[Article] = plain(data=MultiValueDict(draft.typed), instance=article, initial=initial)
    return filled


def _base_of(draft: Autosave, article: Article | None) -> dict[str, Any] | None:
    """The text of the revision that the form began with; None if that is not known."""
    number = "".join(draft.typed.get("base", ()))
    if article is None or not number.isdecimal():
        return None
    base = article.revisions.filter(number=int(number[:9])).first()
    return {name: getattr(base, name) for name in Text.NAMES - {"tags"}} if base else None


def _words(form: ModelForm[Article], name: str) -> str:
    """The first changed words of a text; empty for other fields."""
    if name not in _TEXTS:
        return ""
    old, new = form.get_initial_for_field(form.fields[name], name) or "", form.data.get(name, "")
    before, after = (" ".join(plain_text(text).split()) for text in (old, new))
    return _("other formatting") if before == after else f"“{_first_change(before, after)}”"


def _first_change(before: str, after: str) -> str:
    """A short text; of a longer one what stands where it begins to differ, or its end, if the rest was removed."""
    if len(after) <= _SHOWN:
        return after
    same = len(commonprefix((before, after)))
    if same == len(after):
        same = len(after) - _SHOWN + _CONTEXT
    start = after.rfind(" ", max(same - _CONTEXT, 0), same) + 1 or same
    shown = after[start : start + _SHOWN]
    return f"{'…' if start else ''}{shown}{'…' if len(after) > start + _SHOWN else ''}"
