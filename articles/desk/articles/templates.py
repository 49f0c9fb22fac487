"""Article templates: their admin, and starting an article from one."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.widgets import UnfoldAdminTextareaWidget

from articles.desk.articles.forms import refuse_many_tags
from articles.desk.bounded import RetriedScreens
from articles.desk.opened_form import OpenedForm
from articles.desk.parse import number_or_zero
from articles.limits import BODY_LENGTH
from articles.models import Article, ArticleTemplate, Tag, Text
from articles.pages import newest_text
from articles.permissions import reads_articles
from articles.text import clean_html, oversize


class TemplateForm(OpenedForm):
    """An article template."""

    body = forms.CharField(
        label=_("Body"),
        required=False,
        max_length=BODY_LENGTH,
        widget=UnfoldAdminTextareaWidget({"rows": 16}),
        help_text=_("Plain text, in which an empty line begins a paragraph, or HTML."),
    )

    class Meta:
        model = ArticleTemplate
        fields = ["name", "channel", "title", "summary", "body", "tags"]
        widgets = {"summary": UnfoldAdminTextareaWidget({"rows": 3})}

    def clean_body(self) -> str:
        """Sanitised HTML."""
        body = self.cleaned_data["body"]
        if reason := oversize(body):
            raise forms.ValidationError(reason, code="oversize")
        return clean_html(body)

    def clean(self) -> dict[str, Any]:
        """Not too many tags, with those that another user has added since."""
        cleaned = super().clean()
        try:
            refuse_many_tags(cleaned.get("tags", ()))
        except ValidationError as refusal:
            self.add_error("tags", refusal)
        return cleaned


@admin.register(ArticleTemplate)
class ArticleTemplateAdmin(RetriedScreens):
    """The templates that *Add article* offers."""

    form = TemplateForm
    nothing_yet = _("What an article of a channel begins with, such as a match report: text and tags.")
    list_display = ["name", "channel", "title"]
    list_select_related = ["channel"]
    search_fields = ["name", "title"]
    autocomplete_fields = ["tags"]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """With `?article=`, the text of that article, for users who may read it."""
        article = Article.objects.filter(pk=number_or_zero(request.GET.get("article", ""))).first()
        if article is None or not reads_articles(request.user):
            return dict(super().get_changeform_initial_data(request))
        text, _correction = newest_text(article)
        return {"name": text.title[:80], **_values(text)}


class StartFromTemplate(ModelAdmin):
    """Mixin for the form of a new article: `?template=` names the template whose text it begins with."""

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """The values of the template."""
        initial = dict(super().get_changeform_initial_data(request))
        offered = ArticleTemplate.objects.offered()
        template = offered.filter(pk=number_or_zero(initial.pop("template", ""))).first()
        return {**initial, **values_of(template)} if template else initial


def writers_of_template(request: HttpRequest) -> list[int]:
    """The users who have written the template that the article begins with: they have contributed to its text."""
    template = number_or_zero(request.GET.get("template", ""))
    written = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(ArticleTemplate))
    return [*written.filter(object_id=str(template)).order_by().values_list("user", flat=True).distinct()]


def values_of(template: ArticleTemplate) -> dict[str, Any]:
    """The initial values of an article that begins with this template."""
    names = ("title", "summary", "body")
    values = {name: getattr(template, name) for name in names}
    return {**values, "channel": template.channel_id, "tags": list(template.tags.values_list("pk", flat=True))}


def _values(text: Text) -> dict[str, Any]:
    tags = Tag.objects.filter(name__in=text.tags).values_list("pk", flat=True)
    values = {name: getattr(text, name) for name in ("title", "summary", "body")}
    return {**values, "channel": text.channel_id, "tags": list(tags)}
