"""The publish sheet: what readers will see and when, and what the checks found, before an article is scheduled.

The form is posted to it unsaved. A script shows it as a dialog; without one it is a page that posts the form again.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import formats, timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from unfold.admin import ModelAdmin

from articles.checks import problems
from articles.desk.articles.forms import ArticleForm
from articles.desk.editor.checks import draft_of
from articles.desk.editor.preview import typed_text
from articles.desk.editor.time_hints import conflicts, quick_times, time_in_words, with_preset, zone_of_form
from articles.desk.following import next_change
from articles.desk.time_field import WallTimeInput
from articles.desk.transitions import may_take, transition_button
from articles.models import Article, Channel, Image, Text
from articles.publishing import PAST
from articles.text import format_time_exactly, local_time, wall_clock
from articles.workflow import TRANSITIONS, Transition
from scheduling.database import read_database_clock

TIME_OF_TRANSITION = {Transition.SCHEDULE: "publish_at", Transition.SCHEDULE_UPDATE: "update_at"}
"""The transitions that have a sheet, and the field with their time."""

_NOT_POSTED_AGAIN = ("csrfmiddlewaretoken", "sheet", "preset")


class PublishSheet(ModelAdmin):
    """Mixin with the publish sheet."""

    def get_urls(self) -> list[URLPattern]:
        """The URL of the sheet."""
        own = [path("<int:pk>/sheet/", self.admin_site.admin_view(self.sheet), name="articles_article_sheet")]
        return [*own, *super().get_urls()]

    def sheet(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The sheet of the transition in `sheet`, for the posted form; `preset` replaces its time."""
        article: Article = get_object_or_404(self.get_queryset(request), pk=pk)
        transition = next((one for one in TIME_OF_TRANSITION if one == request.POST.get("sheet")), None)
        if transition is None:
            return redirect("admin:articles_article_change", pk)
        if not may_take(transition, request.user, article):
            raise PermissionDenied
        with timezone.override(zone_of_form(request.POST)):
            return self._sheet(request, article, transition)

    def _sheet(self, request: HttpRequest, article: Article, transition: Transition) -> HttpResponse:
        now = read_database_clock()
        posted = with_preset(request.POST, TIME_OF_TRANSITION[transition], now)
        form = ArticleForm(posted, instance=copy(article))  # validating writes into its instance
        form.is_valid()
        is_dialog = "dialog" in request.GET
        shown = _shown(form, article, transition, now)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.model._meta,
            "article": article,
            "is_dialog": is_dialog,
            "layout": f"articles/desk/editor/sheet_{'dialog' if is_dialog else 'page'}.html",
            "sent": [(name, value) for name, value in _pairs(posted) if name not in _NOT_POSTED_AGAIN],
            **shown,
            "time_input": _time_input(shown["field"], shown["wall"], is_dialog=is_dialog),
        }
        return TemplateResponse(request, "articles/desk/editor/sheet.html", context)


def _time_input(field: str, wall: str, *, is_dialog: bool) -> SafeString:
    """The field of the sheet; that of a dialog is not sent: the article's form has its own."""
    name, outside = ("sheet_time", {"form": "sheet-only"}) if is_dialog else (field, {})
    return WallTimeInput().render(name, wall, {"id": "sheet-time", "data-sheet-time": field, **outside})


def _pairs(posted: QueryDict) -> list[tuple[str, str]]:
    return [(name, value) for name, values in posted.lists() for value in values]


def _shown(form: ArticleForm, article: Article, transition: Transition, now: datetime) -> dict[str, Any]:
    """What the sheet says."""
    field = TIME_OF_TRANSITION[transition]
    at, saved = form.cleaned_data.get(field), draft_of(article)
    text, correction = typed_text(form, saved.text)
    draft = replace(saved, text=text, correction=correction, publish_at=at)
    return {
        "title": TRANSITIONS[transition].label,
        "transition": transition,
        "field": field,
        "wall": form.data.get(field, ""),
        "presets": [(name, label) for name, (label, _wall) in quick_times(now).items()],
        "text": text,
        "channel": Channel.objects.filter(pk=text.channel_id).first() if text.channel_id else None,
        "cover": next(iter(Image.objects.named(text.cover)), None),
        "times": time_in_words(at, now),
        "limits": _limits(form),
        "conflicts": list(conflicts(text.channel_id, article.pk, at, now)) if at and field == "publish_at" else [],
        "errors": form.errors.get(field, []),
        "late": at is not None and at <= now and PAST["publish_at"],
        "wait": _until_said_otherwise(at, now) if at else None,
        "problems": [problem for problem in problems(draft) if problem.field != field],  # it asks for the time itself
        "button": transition_button(transition),
        "button_label": _label(transition, at if at and at > now else None),
        "has_newer": _leaves_newer(form),
    }


def _until_said_otherwise(at: datetime, now: datetime) -> int | None:
    """Milliseconds until the distance to `at` is said in other words, or the time is past."""
    steps = (at, now + max((at - now) / 12, timedelta(seconds=5)))
    return next_change(now, [min(steps)])


def _limits(form: ArticleForm) -> list[str]:
    """The embargo and the end."""
    texts = {"embargo_until": _("Under embargo until %(time)s."), "unpublish_at": _("Will be unpublished on %(time)s.")}
    return [
        text % {"time": format_time_exactly(form.cleaned_data[name])}
        for name, text in texts.items()
        if form.cleaned_data.get(name)
    ]


def _label(transition: Transition, at: datetime | None) -> str:
    if at is None:
        return str(TRANSITIONS[transition].label)
    local = local_time(at)
    # Translators: a short day such as Tue 24 Nov, in the letters of Django's date filter
    day = formats.date_format(local, _("D j M"))
    moment = _("%(day)s, %(time)s") % {"day": day, "time": wall_clock(local)}
    if transition is Transition.SCHEDULE:
        return _("Schedule for %(time)s") % {"time": moment}
    return _("Schedule update for %(time)s") % {"time": moment}


def _leaves_newer(form: ArticleForm) -> bool:
    """Whether the text was edited after its approval, so that readers see the approved one."""
    return not Text.NAMES.isdisjoint(form.edits())
