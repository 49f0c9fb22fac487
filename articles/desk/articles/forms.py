"""Forms of the article admin."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from django.utils.timezone import is_naive
from django.utils.translation import gettext, gettext_lazy as _, pgettext_lazy
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldAdminTextInputWidget

from articles.desk.cover_field import CoverField
from articles.desk.editor.assets import writing_media
from articles.desk.editor.body_field import BodyFormField
from articles.desk.editor.merge import PARAGRAPH, Merge
from articles.desk.time_field import ZonedTimeField
from articles.desk.transitions import is_transition_button
from articles.exceptions import ArticleError, EditConflict
from articles.limits import BODY_LENGTH, MOST_TAGS, REASON_LENGTH, REVISION_NOTE_LENGTH
from articles.models import LINES, Article, Channel, Tag, Text
from articles.pages import newest_number
from articles.publishing import EDITABLE, Typed, tag_named
from articles.text import foreign_tags, one_line, oversize

_COMMA = re.compile("[,，、\n]")  # noqa: RUF001 (Chinese commas)


class LineFormField(forms.CharField):
    """A text on one line, also in a widget that wraps; without anything to see it is empty."""

    def to_python(self, value: Any) -> str:
        """The line."""
        return one_line(str(super().to_python(value)))


class VersionField(forms.Field):
    """The `updated_at` of the version in the form, to the microsecond."""

    def prepare_value(self, value: Any) -> Any:
        """ISO 8601, without loss of precision."""
        return value.isoformat() if isinstance(value, datetime) else value

    def to_python(self, value: Any) -> datetime | None:
        """An aware time, or None for a new article."""
        try:
            return _instant(value) if value else None
        except ValueError as error:
            raise ValidationError(_("The article changed. Open it again."), code="invalid") from error


def _instant(text: str) -> datetime:
    """Raises `ValueError`, also for a time without a zone."""
    moment = datetime.fromisoformat(text)
    if is_naive(moment):
        raise ValueError(text)
    return moment


class ArticleForm(forms.ModelForm):  # type: ignore[type-arg]
    """The article form. `refusal` is the error of a first attempt to save, `restored` autosaved content."""

    refusal: ArticleError | None = None
    restored: Typed | None = None

    body = BodyFormField(label=_("Body"), required=False, max_length=BODY_LENGTH)
    publish_at = ZonedTimeField(
        label=_("Publish at"), required=False, help_text=_("The article goes live at this time once it is approved.")
    )
    embargo_until = ZonedTimeField(
        label=_("Embargo until"),
        required=False,
        help_text=_("Readers cannot see it before this time."),
    )
    unpublish_at = ZonedTimeField(label=_("Unpublish at"), required=False)
    update_at = ZonedTimeField(
        label=_("Update goes live at"),
        required=False,
        help_text=_("The approved update replaces the live text at this time."),
    )
    cover = CoverField(label=_("Cover images"), required=False)
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=REVISION_NOTE_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("For the newsroom: what is new, and why."),
    )
    correction = forms.CharField(
        label=_("Correction"),
        required=False,
        max_length=REASON_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Shown to readers at the end of the article: what was wrong before. Published with this revision."),
    )
    more_tags = forms.CharField(
        label=_("Add tags"),
        required=False,
        max_length=REASON_LENGTH,
        widget=UnfoldAdminTextInputWidget,
        help_text=_("Names of tags, separated by commas."),
    )
    seen = VersionField(required=False, widget=forms.HiddenInput)
    base = forms.IntegerField(required=False, max_value=2**31 - 1, widget=forms.HiddenInput)

    class Meta:
        model = Article
        fields = "__all__"  # noqa: DJ007 (the screen names its fields; status and stamps are never among them)
        field_classes = dict.fromkeys(LINES, LineFormField)
        widgets = {
            "title": UnfoldAdminTextareaWidget({"rows": 1, "placeholder": pgettext_lazy("of an article", "Headline")}),
            "summary": UnfoldAdminTextareaWidget({"rows": 1, "placeholder": _("Summary")}),
            "social_summary": UnfoldAdminTextareaWidget({"rows": 3}),
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        if (article := options.get("instance")) is not None:
            options["initial"] = {**_newer_values(article), **(options.get("initial") or {})}
        if self.restored is not None:
            options["initial"] = {**(options.get("initial") or {}), **_as_typed(self.base_fields, self.restored)}
        super().__init__(*args, **options)
        self.fields["seen"].initial = self.instance.changed_at
        self.fields["base"].initial = newest_number(self.instance)
        if "cover_mode" in self.fields:
            self.fields["cover_mode"].required = False
        if "channel" in self.fields:
            offered = Channel.objects.filter(Q(enabled=True) | Q(pk=self.instance.channel_id))
            self.fields["channel"].queryset = offered  # type: ignore[attr-defined]

    @property
    def media(self) -> forms.Media:
        """Of the cover and the editor; the other widgets need no script of theirs."""
        own = [field.widget.media for name, field in self.fields.items() if name == "cover"]
        return sum(own, start=forms.Media()) + writing_media()

    @property
    def is_stale(self) -> bool:
        """Whether another user has saved the article since."""
        return isinstance(self.refusal, EditConflict)

    def clean_seen(self) -> datetime | None:
        """A form that lacks it was cut off; that of a new article has an empty one, and may save a draft without it."""
        seen: datetime | None = self.cleaned_data["seen"]
        is_complete = self.add_prefix("seen") in self.data or not any(map(is_transition_button, self.data))
        if not is_complete or (seen is None and self.instance.pk is not None):
            self.add_error(None, ValidationError(_("This form is incomplete. Open the article again.")))
        return seen

    def clean_body(self) -> str:
        """Refuse one that is too large, unless it is untouched, from before that limit."""
        body: str = self.cleaned_data["body"]
        if not (reason := oversize(body)):
            return body
        if "body" in self.changed_data or self.instance.pk is None:
            raise ValidationError(reason, code="oversize")
        return str(self.initial["body"])

    def clean_cover_mode(self) -> str:
        """An omitted field keeps its value."""
        return str(self.cleaned_data["cover_mode"] or self.instance.cover_mode)

    def clean_more_tags(self) -> list[Tag]:
        """The tags with these names, for browsers without scripts."""
        names = [name for part in _COMMA.split(self.cleaned_data["more_tags"]) if (name := part.strip())]
        tags = [(name, tag_named(name)) for name in names]
        if missing := [name for name, tag in tags if tag is None]:
            text = gettext("There is no tag with this name: %(names)s.")
            raise ValidationError(text % {"names": gettext(", ").join(missing)}, code="no_tag")
        return [tag for _name, tag in tags if tag]

    @property
    def chosen(self) -> dict[str, str]:
        """The chosen version of each conflicting field or paragraph; empty where nothing is chosen yet.

        A time that was asked about is no longer a field once the article is live.
        """
        names = [name for name in _sent_list(self.data, "asked") if name in self.fields or name.startswith(PARAGRAPH)]
        return {name: str(self.data.get(f"keep_{name}", "")) for name in names}

    @cached_property
    def merge(self) -> Merge | None:
        """The merge of both versions if another user has saved the article since; call after cleaning."""
        if self.instance.pk is None or not (self.is_stale or "merged_with" in self.data):
            return None
        article = Article.objects.select_related("update").get(pk=self.instance.pk)
        base = article.revisions.filter(number=self.cleaned_data.get("base") or 0).first()
        return Merge(article, base, self._typed_edits())

    def clean(self) -> dict[str, Any] | None:
        """Repeat the error of the first attempt, and require a choice for each conflict."""
        cleaned = super().clean() or self.cleaned_data
        if more := cleaned.get("more_tags"):
            cleaned["tags"] = [*{*cleaned.get("tags", ()), *more}]
        if self.is_edited("tags"):
            refuse_many_tags(cleaned.get("tags", ()))
        if self.refusal is not None:
            raise ValidationError(str(self.refusal), code=self.refusal.code)
        self.seen_version()
        if open_questions := self._open_questions():
            text = _("Choose which version to keep: %(fields)s.")
            raise ValidationError(text % {"fields": gettext(", ").join(open_questions)}, code="unanswered")
        return cleaned

    def _open_questions(self) -> list[str]:
        """The labels of the fields without a choice. Saving itself refuses a form that has seen an older version."""
        names = [name for name, answer in self.chosen.items() if not answer and name in self.fields]
        is_newest = self.merge is not None and self.merge.article.changed_at == self.seen_version()
        if self.merge and is_newest and self.merge.is_open(self.chosen):
            names.append("body")
        return [str(self.fields[name].label) for name in names]

    def edits(self) -> dict[str, Any]:
        """The changed fields with their new values."""
        return self.merge.resolved(self.chosen) if self.merge else self._typed_edits()

    def _typed_edits(self) -> dict[str, Any]:
        names = [name for name in self.fields if name in EDITABLE and self.is_edited(name)]
        return {name: self.cleaned_data[name] for name in names if name in self.cleaned_data}

    def is_edited(self, name: str) -> bool:
        """Whether the request changes the field: one that it lacks keeps its value, one that is empty does not."""
        changed = {*self.changed_data} | ({"tags"} if self.cleaned_data.get("more_tags") else set())
        if name not in changed:
            return False
        widget = self.fields[name].widget
        return not widget.value_omitted_from_data(self.data, self.files, self.add_prefix(name))

    def taken_out(self) -> list[str]:
        """Tags in the submitted text that are removed."""
        return foreign_tags(str(self.data.get(self.add_prefix("body"), ""))) if "body" in self.changed_data else []

    def seen_version(self) -> datetime | None:
        """The version the form is based on. Raises `ValidationError` if it is forged."""
        shown = self.data.get("merged_with")
        seen: datetime | None = VersionField().to_python(shown) if shown else self.cleaned_data.get("seen")
        return seen


def refuse_many_tags(tags: Collection[Tag]) -> None:
    """Raise `ValidationError` for more than an article or a template may have."""
    if len(tags) > MOST_TAGS:
        values = {"most": MOST_TAGS, "count": len(tags)}
        raise ValidationError(_("At most %(most)d tags are possible; there are %(count)d.") % values, code="many_tags")


def _sent_list(data: Any, name: str) -> list[str]:
    """All values of a name, for `QueryDict` and plain dictionaries."""
    return data.getlist(name) if hasattr(data, "getlist") else list(data.get(name, []))


def _as_typed(fields: Mapping[str, forms.Field], typed: Typed) -> dict[str, Any]:
    """Values by field name as the widgets read them; empty multiple choices are omitted."""
    data = MultiValueDict({name: list(texts) for name, texts in typed.items()})
    return {
        name: field.widget.value_from_datadict(data, MultiValueDict(), name)
        for name, field in fields.items()
        if name in typed or getattr(field.widget, "allow_multiple_selected", False)
    }


def _newer_values(article: Article) -> dict[str, Any]:
    """Initial values from the pending update: editors always edit the newest text."""
    pending_update = article.pending_update
    if pending_update is None:
        return {}
    revision = pending_update.draft or pending_update.approved
    assert revision is not None  # noqa: S101 (an update without text is deleted)
    values = {name: getattr(revision, name) for name in Text.NAMES}
    return {**values, "tags": list(Tag.objects.filter(name__in=revision.tags)), "update_at": pending_update.publish_at}


class ScheduleForm(forms.Form):
    """One time for many articles."""

    publish_at = ZonedTimeField(label=_("Publish at"))


class RescheduleForm(forms.Form):
    """A time shift for many articles."""

    minutes = forms.IntegerField(
        label=_("Minutes"),
        min_value=-527_040,  # a year
        max_value=527_040,
        widget=UnfoldAdminTextInputWidget({"type": "number"}),
        help_text=_("Added to each publish time. A negative number moves it earlier."),
    )

    @property
    def shift(self) -> timedelta:
        """The duration of a valid form."""
        return timedelta(minutes=self.cleaned_data["minutes"])
