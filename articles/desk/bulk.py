"""Taking a step with many articles at once, from the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin, helpers
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from articles import services
from articles.desk.forms import MoveForm, ScheduleForm
from articles.desk.steps import SIMPLE_STEPS
from articles.exceptions import ArticleError
from articles.models import Article
from articles.workflow import STEPS, Step

SHOWN_REFUSALS = 5
Action = Callable[[Any, HttpRequest, QuerySet[Article]], HttpResponse | None]


def for_each(step: Step) -> Action:
    """An action that takes `step` with each chosen article, each in its own transaction."""

    def action(screen: ModelAdmin[Article], request: HttpRequest, chosen: QuerySet[Article]) -> None:
        refusals, done = [], 0
        for article in chosen:
            try:
                SIMPLE_STEPS[step](article, by=request.user)
                done += 1
            except ArticleError as refusal:
                refusals.append(f"{article}: {refusal}")
        _report(screen, request, done, refusals)

    action.__name__ = step.value
    action.short_description = STEPS[step].label  # type: ignore[attr-defined]
    return action


def schedule(screen: ModelAdmin[Article], request: HttpRequest, chosen: QuerySet[Article]) -> HttpResponse | None:
    """Ask for one time, then schedule every chosen article that is approved for it."""
    form = ScheduleForm(request.POST if "publish_at" in request.POST else None)
    if form.is_valid():
        try:
            done = services.schedule_many(chosen, publish_at=form.cleaned_data["publish_at"], by=request.user)
        except ArticleError as refusal:
            form.add_error("publish_at", str(refusal))
        else:
            _report(screen, request, done, _left_out(chosen.count() - done))
            return None
    title = _("Schedule articles")
    return _ask(screen, request, chosen, form, action=Step.SCHEDULE, title=title, button=STEPS[Step.SCHEDULE].label)


schedule.short_description = gettext_lazy("Schedule…")  # type: ignore[attr-defined]


def move(screen: ModelAdmin[Article], request: HttpRequest, chosen: QuerySet[Article]) -> HttpResponse | None:
    """Ask for a span, then move every chosen article that waits for its time."""
    form = MoveForm(request.POST if "minutes" in request.POST else None)
    if form.is_valid():
        try:
            done = services.move_many(chosen, shift=form.shift, by=request.user)
        except ArticleError as refusal:
            form.add_error("minutes", str(refusal))
        else:
            _report(screen, request, done, _not_waiting(chosen.count() - done))
            return None
    title = _("Move articles")
    return _ask(screen, request, chosen, form, action=Step.MOVE, title=title, button=STEPS[Step.MOVE].label)


move.short_description = gettext_lazy("Move…")  # type: ignore[attr-defined]


def _ask(
    screen: ModelAdmin[Article], request: HttpRequest, chosen: QuerySet[Article], form: Form, **more: Any
) -> HttpResponse:
    context = {
        **screen.admin_site.each_context(request),
        "form": form,
        "chosen": chosen,
        "opts": screen.model._meta,
        "checkbox": helpers.ACTION_CHECKBOX_NAME,
        **more,
    }
    return TemplateResponse(request, "articles/desk/schedule.html", context)


def _not_waiting(number: int) -> list[str]:
    if not number:
        return []
    text = ngettext("%d article waits for no time.", "%d articles wait for no time.", number)
    return [text % number]


def _left_out(number: int) -> list[str]:
    if not number:
        return []
    return [ngettext("%d article is not approved.", "%d articles are not approved.", number) % number]


def _report(screen: ModelAdmin[Article], request: HttpRequest, done: int, refusals: list[str]) -> None:
    if done:
        text = ngettext("Done with %d article.", "Done with %d articles.", done) % done
        screen.message_user(request, text, messages.SUCCESS)
    for refusal in refusals[:SHOWN_REFUSALS]:
        screen.message_user(request, refusal, messages.WARNING)
    if (more := len(refusals) - SHOWN_REFUSALS) > 0:
        screen.message_user(request, _("… and %d more.") % more, messages.WARNING)


BULK_ACTIONS: list[Action] = [
    for_each(Step.SUBMIT),
    for_each(Step.APPROVE),
    schedule,
    move,
    *(for_each(step) for step in (Step.CANCEL_SCHEDULE, Step.PUBLISH_NOW, Step.WITHDRAW, Step.RESTORE)),
]
