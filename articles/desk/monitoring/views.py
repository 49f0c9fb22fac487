"""Views of the board: the page, its content alone for refreshes, and the writes of its menus."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from articles import publishing
from articles.desk.calendar.base import require_look, users
from articles.desk.calendar.reschedule_form import LAST_RESCHEDULED, Answer, reschedule_subject
from articles.desk.calendar.subjects import subject_named
from articles.desk.confirmation import CONFIRMED
from articles.desk.monitoring.filters import BOARD, Column, Filters
from articles.desk.monitoring.lanes import Lane, lanes, version
from articles.desk.monitoring.menu import HOUR, menu
from articles.desk.parse import instant
from articles.desk.transitions import state
from articles.exceptions import ArticleError
from articles.models import Article, Channel
from articles.permissions import ADD, allows
from articles.text import zone_label
from articles.workflow import TRANSITIONS, Input, Transition
from scheduling.database import read_database_clock

_EMPTY = {
    Column.DRAFTS: gettext_lazy("No drafts. Write an article: it stays here until you submit it for review."),
    Column.REVIEW: gettext_lazy("Nothing to review. Articles come here when they are submitted."),
    Column.SCHEDULED: gettext_lazy("Nothing is scheduled. Approve an article and give it a time."),
    Column.LIVE: gettext_lazy("Nothing went live in the last 7 days."),
}

_TABLES = {
    Column.DRAFTS: "draft",
    Column.REVIEW: "review",
    Column.SCHEDULED: "scheduled",
    Column.LIVE: "published",
}
"""The status filter of the article list by column."""


@require_safe
def board(request: HttpRequest) -> HttpResponse:
    """Show the board."""
    require_look(request)
    filters = Filters.of(request.GET)
    context = {
        "title": _("Monitoring"),
        "channels": Channel.objects.all(),
        "people": users(),
        "may_write": allows(ADD, request.user),
        "source": reverse("desk_monitoring_content") + filters.query(),
        "back": BOARD + filters.query(),
        "last_rescheduled": request.session.get(LAST_RESCHEDULED),
        "table": reverse("admin:articles_article_changelist") + filters.table_query(),
        **_content(request, filters),
    }
    return _page(request, "monitoring/board", context)


@never_cache
@require_safe
def content(request: HttpRequest) -> HttpResponse:
    """The refreshed content of the page; 204 if it is as it was in the version `seen`."""
    require_look(request)
    if request.GET.get("seen") == version(read_database_clock()):
        return HttpResponse(status=204)
    context = _content(request, Filters.of(request.GET))
    return TemplateResponse(request, "articles/desk/monitoring/content.html", context)


@require_POST
def later(request: HttpRequest, key: str) -> HttpResponse:
    """Reschedule a card by an hour from the time that the user saw."""
    require_look(request)
    seen = instant(request.POST.get("seen", ""))
    if seen is None:
        raise Http404
    try:
        answer = reschedule_subject(subject_named(key), seen + HOUR, seen, request)
    except ValidationError as error:
        answer = Answer(str(error.messages[0]), "gone")
    except ArticleError as refusal:
        answer = Answer(str(refusal), refusal.code)
    messages.add_message(request, messages.SUCCESS if answer.is_done else messages.ERROR, answer.message)
    return _back(request)


@require_POST
def transition(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Perform a transition that needs no input; one that readers notice at once is confirmed first."""
    require_look(request)
    article = get_object_or_404(Article.objects.select_related("update"), pk=pk)
    chosen = _transition_named(name)
    if TRANSITIONS[chosen].confirmation and request.POST.get(name) != CONFIRMED:
        return _question(request, article, chosen)
    try:
        publishing.perform(chosen, article, by=request.user)
    except ArticleError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, f"“{article.title}”: {state(article, read_database_clock())}")
    return _back(request)


def _transition_named(name: str) -> Transition:
    if name not in list(Transition) or TRANSITIONS[Transition(name)].input is not Input.NONE:
        raise Http404
    return Transition(name)


def _content(request: HttpRequest, filters: Filters) -> dict[str, Any]:
    now = read_database_clock()
    shown = version(now)  # before reading, so that a change in between is shown next time
    found = lanes(filters, by=request.user, now=now)
    back = BOARD + filters.query()
    return {
        "filters": filters,
        "now": round(now.timestamp() * 1000),
        "version": shown,
        "zone": zone_label(now),
        "open": filters.column or Column.DRAFTS,
        "lanes": [_shown(lane, filters, request, back) for lane in found],
    }


def _shown(lane: Lane, filters: Filters, request: HttpRequest, back: str) -> dict[str, Any]:
    stage = reverse("admin:articles_article_changelist") + filters.table_query(stage=_TABLES[lane.column])
    return {
        "column": lane.column,
        "count": lane.count,
        "cards": [(card, menu(card, by=request.user, back=back)) for card in lane.shown],
        "tab": filters.query(column=lane.column.value),
        "table": stage,
        "is_long": len(lane.cards) > len(lane.shown),
        "empty": _("Nothing matches these filters.") if filters.is_narrow else _EMPTY[lane.column],
    }


def _question(request: HttpRequest, article: Article, chosen: Transition) -> HttpResponse:
    rule = TRANSITIONS[chosen]
    context = {
        "title": rule.label,
        "article": article,
        "opts": Article._meta,
        "consequences": publishing.consequences(chosen, article),
        "button": chosen.value,
        "confirmed": CONFIRMED,
        "is_dangerous": rule.is_removal,
        "sent": [("back", request.POST.get("back", ""))],
        "back": _address(request),
    }
    return _page(request, "confirm", context)


def _page(request: HttpRequest, name: str, context: dict[str, Any]) -> HttpResponse:
    return TemplateResponse(request, f"articles/desk/{name}.html", {**admin.site.each_context(request), **context})


def _back(request: HttpRequest) -> HttpResponse:
    return redirect(_address(request))


def _address(request: HttpRequest) -> str:
    """The board with the filters that the form was sent with; only known parameters are used."""
    query = QueryDict(request.POST.get("back", "").partition("?")[2])
    return reverse(BOARD) + Filters.of(query).query()
