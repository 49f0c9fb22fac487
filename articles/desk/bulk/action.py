"""Admin actions that start a bulk action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.text import format_lazy

from articles.desk.bulk.screens import asks_first, begin
from articles.models import Article
from articles.workflow import TRANSITIONS, Transition

Action = Callable[[Any, HttpRequest, QuerySet[Article]], HttpResponse]


def for_each(transition: Transition) -> Action:
    """An admin action that makes `transition` on each selected article; an ellipsis marks those that ask first."""

    def action(screen: ModelAdmin[Article], request: HttpRequest, chosen: QuerySet[Article]) -> HttpResponse:
        return begin(request, transition, chosen)

    action.__name__ = transition.value
    label = TRANSITIONS[transition].label
    action.short_description = format_lazy("{}…", label) if asks_first(transition) else label  # type: ignore[attr-defined]
    return action


BULK_ACTIONS: list[Action] = [for_each(transition) for transition, rule in TRANSITIONS.items() if rule.is_bulk_action]
