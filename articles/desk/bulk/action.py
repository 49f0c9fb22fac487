"""Taking a step with many articles at once, from the list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import format_lazy

from articles.desk.bulk.screens import FORMS, begin
from articles.models import Article
from articles.workflow import STEPS, Step

Action = Callable[[Any, HttpRequest, QuerySet[Article]], HttpResponse]

OFFERED = (
    Step.SUBMIT,
    Step.APPROVE,
    Step.SCHEDULE,
    Step.MOVE,
    Step.CANCEL_SCHEDULE,
    Step.PUBLISH_NOW,
    Step.WITHDRAW,
    Step.RESTORE,
)


def for_each(step: Step) -> Action:
    """An action that takes `step` with each chosen article; one that asks first says so by its dots."""

    def action(screen: ModelAdmin[Article], request: HttpRequest, chosen: QuerySet[Article]) -> HttpResponse:
        return begin(request, step, chosen)

    action.__name__ = step.value
    label = STEPS[step].label
    action.short_description = format_lazy("{}…", label) if step in FORMS else label  # type: ignore[attr-defined]
    return action


BULK_ACTIONS: list[Action] = [for_each(step) for step in OFFERED]
