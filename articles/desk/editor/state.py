"""The state of an article in its form: chip, status box and actions, which an open page renews at the next change."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from unfold.admin import ModelAdmin

from articles.audit import Actor
from articles.desk.articles.changelist import BADGES
from articles.desk.editor.actions import actions
from articles.desk.editor.settable import may_write, settable_times
from articles.desk.editor.version import CHANGED, following_of
from articles.desk.following import answer_unchanged
from articles.desk.transitions import limits, offered, state, state_of_update
from articles.models import Article, ReviewProgress, State, state_at
from articles.pages import newest_number
from articles.workflow import Transition
from scheduling.database import read_database_clock


class StateScreens(ModelAdmin):
    """Mixin with the endpoint of the state."""

    def get_urls(self) -> list[URLPattern]:
        """The endpoint's URL."""
        view = self.admin_site.admin_view(self.state_screen)
        return [path("<int:pk>/state/", view, name="articles_article_state"), *super().get_urls()]

    def state_screen(self, request: HttpRequest, pk: int) -> HttpResponse:
        """The parts of the form that show the state, for those who may open it; 204 if they are as in `?follow=`."""
        article = get_object_or_404(Article.objects.select_related("update", "soft_lock"), pk=pk)
        if not self.has_view_or_change_permission(request, article):
            raise PermissionDenied
        now = read_database_clock()
        following = following_of(article, request.user, now, is_changed=CHANGED in request.GET)
        if unchanged := answer_unchanged(request, following):
            return unchanged
        context = {
            "opts": self.model._meta,
            "original": article,
            "has_add_permission": self.has_add_permission(request),
            "has_delete_permission": self.has_delete_permission(request, article),
            "follow": following.as_json(),
            **shown_state(article, request.user, now, is_changed=CHANGED in request.GET),
        }
        return TemplateResponse(request, "articles/desk/editor/state.html", context)


def shown_state(original: Article | None, by: Actor, now: datetime, *, is_changed: bool) -> dict[str, Any]:
    """What chip, status box and actions say at `now`, for their templates; without an article, of a new one."""
    article = original or Article()
    found = state_at(article, now)
    transitions = offered(article, by, now) if original else [Transition.SUBMIT]
    settable = settable_times(original, by)
    may_save = bool(settable) or may_write(original, by)
    is_in_queue = Transition.APPROVE in transitions
    return {
        "badge": BADGES[found.status],
        "stage": found.label,
        "state": state(article, now),
        "limits": limits(article, now),
        "state_of_update": state_of_update(article, now),
        "shown_number": newest_number(article) if article.pending_update else None,
        "is_live": found.state is State.LIVE,
        "actions": actions(article, transitions, may_save=may_save, is_changed=is_changed),
        "is_in_queue": is_in_queue,
        "review_stage": ReviewProgress.of(article).stage.kind if is_in_queue else "",
        "settable": settable,
    }
