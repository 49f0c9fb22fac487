"""Admin of sensitive words: one by one, or many pasted or uploaded."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _, gettext_lazy
from unfold.decorators import action, display
from unfold.widgets import UnfoldAdminFileFieldWidget, UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from articles.desk.bounded import RetriedScreens, first_words
from articles.desk.opened_form import OpenedForm
from articles.desk.review.automatic_approval import who_approves
from articles.limits import PASTED_LENGTH
from articles.models import SensitiveWord
from articles.review import add_words, problem_of
from articles.text import format_time, plain_form

BADGES = {
    SensitiveWord.Level.BLOCK.value: "danger",
    SensitiveWord.Level.REVIEW.value: "warning",
    SensitiveWord.Level.ALLOW.value: "success",
}
VIEW_POLICY = "articles.view_reviewpolicy"


class SensitiveWordForm(OpenedForm):
    """A sensitive word, validated with explanations."""

    class Meta:
        model = SensitiveWord
        fields = ["text", "level"]

    def clean_text(self) -> str:
        """Reject invalid words, and duplicates in any spelling."""
        text: str = self.cleaned_data["text"].strip()
        if fault := problem_of(text):
            raise ValidationError(_("Invalid entry: %(fault)s.") % {"fault": fault})
        others = SensitiveWord.objects.filter(normalised=plain_form(text)).exclude(pk=self.instance.pk)
        if there := others.first():
            text = _("“%(word)s” is already on the list, as “%(level)s”.")
            raise ValidationError(text % {"word": there, "level": there.get_level_display()})
        return text


class SensitiveWordsForm(forms.Form):
    """Many words of one level, pasted or uploaded; `lines` is set once valid."""

    lines: list[str]

    level = forms.ChoiceField(
        label=gettext_lazy("Level"),
        choices=SensitiveWord.Level.choices,
        initial=SensitiveWord.Level.REVIEW,
        widget=UnfoldAdminSelectWidget,
    )
    words = forms.CharField(
        label=gettext_lazy("Words"),
        help_text=gettext_lazy("One per line."),
        max_length=PASTED_LENGTH,
        required=False,
        widget=UnfoldAdminTextareaWidget({"rows": 15}),
    )
    file = forms.FileField(
        label=gettext_lazy("Or a file"),
        help_text=gettext_lazy("One per line, in UTF-8."),
        required=False,
        widget=UnfoldAdminFileFieldWidget({"accept": ".txt,text/plain"}),
    )

    def clean(self) -> dict[str, Any]:
        """Read the lines; reject files that are not UTF-8, and empty forms."""
        values = super().clean() or self.cleaned_data
        try:
            read = values["file"].read().decode("utf-8-sig") if values.get("file") else ""
        except UnicodeDecodeError as error:
            text = _("This file is not in UTF-8 (byte %(place)d). Save it as UTF-8 text and choose it again.")
            raise ValidationError({"file": text % {"place": error.start}}) from error
        self.lines = [*values.get("words", "").splitlines(), *read.splitlines()]
        if not any(map(str.strip, self.lines)) and not self.errors:
            raise ValidationError(_("Paste words or choose a file."))
        return values


@admin.register(SensitiveWord)
class SensitiveWordAdmin(RetriedScreens):
    """Sensitive words with their level."""

    nothing_yet = gettext_lazy("Articles with words on this list are blocked or need human review.")
    form = SensitiveWordForm
    list_display = ["text", "badge", "added"]
    list_filter = ["level"]
    search_fields = ["text"]
    search_help_text = gettext_lazy("Word or part of a word")
    ordering = ["text"]
    list_per_page = 100
    show_full_result_count = False
    actions_list = ("add_many",)  # type: ignore[assignment]
    list_before_template = "articles/desk/sensitive_words_before.html"  # type: ignore[assignment]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """With the current review policy."""
        policy: dict[str, Any] = {"who_approves": who_approves(), "may_see_policy": request.user.has_perm(VIEW_POLICY)}
        return super().changelist_view(request, {**policy, **(extra_context or {})})

    @display(label=BADGES)
    @admin.display(description=gettext_lazy("level"), ordering="level")
    def badge(self, word: SensitiveWord) -> tuple[str, str]:
        """The level with its colour."""
        return word.level, word.get_level_display()

    @admin.display(description=gettext_lazy("added"), ordering="created_at")
    def added(self, word: SensitiveWord) -> str:
        return format_time(word.created_at)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[SensitiveWord], search_term: str
    ) -> tuple[QuerySet[SensitiveWord], bool]:
        """Search by normalised spelling."""
        term = first_words(search_term)
        return queryset.filter(Q(normalised__contains=plain_form(term)) | Q(text__contains=term)), False

    @action(  # type: ignore[operator]
        description=gettext_lazy("Add words"),  # type: ignore[arg-type]
        url_path="add-many",
        permissions=["add"],
        icon="playlist_add",
    )
    def add_many(self, request: HttpRequest) -> HttpResponse:
        """Add a list and show the result; offer downloads."""
        form = SensitiveWordsForm(request.POST or None, request.FILES or None)
        report = (
            add_words(form.lines, level=SensitiveWord.Level(form.cleaned_data["level"])) if form.is_valid() else None
        )
        context: dict[str, Any] = {
            **self.admin_site.each_context(request),
            "title": _("Add words"),
            "form": form,
            "report": report,
            "levels": SensitiveWord.Level.choices,
            "opts": self.model._meta,
        }
        return TemplateResponse(request, "articles/desk/sensitive_words.html", context)

    def get_urls(self) -> list[URLPattern]:
        """With the list and download URLs."""
        export = self.admin_site.admin_view(self.export)
        return [path("export/<slug:level>/", export, name="articles_sensitiveword_export"), *super().get_urls()]

    def export(self, request: HttpRequest, level: str) -> HttpResponse:
        """The words of a level as a file that can be uploaded again."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        if level not in SensitiveWord.Level.values:
            raise Http404
        file = HttpResponse(
            SensitiveWord.objects.filter(level=level).as_lines(), content_type="text/plain; charset=utf-8"
        )
        file["Content-Disposition"] = f'attachment; filename="words-{level}.txt"'
        return file
