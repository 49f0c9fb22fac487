"""The page that asks before a change that readers notice immediately: tried, rolled back, described."""

from __future__ import annotations

import time
from dataclasses import replace

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from articles.desk.asked_text import NAME, asked_text
from articles.desk.editor.autosave import NEVER_SAVED, window_of
from articles.desk.transitions import pressed, transition_button
from articles.exceptions import ArticleError
from articles.models import Article
from articles.publishing import Unconfirmed, save_autosave
from articles.workflow import TRANSITIONS

CONFIRMED = "confirmed"
"""Name of the confirmed button's value."""


def is_confirmed(request: HttpRequest) -> bool:
    """Whether the request is the answer of the confirmation page, with any text that this asks for."""
    text = asked_text(request)
    return _is_answered(request) and not (text and text.error)


def _is_answered(request: HttpRequest) -> bool:
    return request.POST.get(_button(request)) == CONFIRMED


def question(request: HttpRequest, article: Article | None, asked: Unconfirmed) -> HttpResponse:
    """The confirmation page, which posts the form again; "Back" returns to the form with its input."""
    button, transitions, text = _button(request), pressed(request), asked_text(request)
    if text and not _is_answered(request):
        text = replace(text, error="")  # not answered yet
    context = {
        **admin.site.each_context(request),
        "opts": Article._meta,
        "title": TRANSITIONS[transitions[0]].label if transitions else _("Save"),
        "article": article or request.POST.get("title", ""),
        "consequences": asked.consequences,
        "text": text,
        "text_name": NAME,
        "button": button,
        "confirmed": CONFIRMED,
        "is_dangerous": any(TRANSITIONS[one].is_removal and TRANSITIONS[one].confirmation for one in transitions),
        "sent": [
            (name, value)
            for name, values in request.POST.lists()
            for value in values
            if name not in (button, "csrfmiddlewaretoken", *((NAME,) if text else ()))
        ],
        "back": _way_back(request, article, is_kept=asked.typed),
    }
    return TemplateResponse(request, "articles/desk/confirm.html", context)


def _button(request: HttpRequest) -> str:
    names = [*map(transition_button, pressed(request)), "_continue", "_addanother"]
    return next((name for name in names if name in request.POST), "_save")


def _way_back(request: HttpRequest, article: Article | None, *, is_kept: bool) -> str:
    """The autosaved form to return to; not for read-only users, who entered at most a time."""
    name, arguments = ("change", [article.pk]) if article else ("add", [])
    form, window = reverse(f"admin:articles_article_{name}", args=arguments), window_of(request)
    if not is_kept:
        return form
    typed = {
        name: values
        for name, values in request.POST.lists()
        if name not in NEVER_SAVED and not name.startswith(("_", "keep_"))
    }
    try:
        save_autosave(window, article, by=request.user, typed=typed, number=time.time_ns() // 1_000_000)
    except ArticleError:
        return form
    return f"{form}?restore={window}"
