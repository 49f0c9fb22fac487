"""Screens of bulk actions: confirmation, progress, result and undo."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from articles.desk.articles.forms import RescheduleForm, ScheduleForm
from articles.desk.bulk.schedule_hints import ScheduleHints
from articles.desk.editor.time_hints import quick_times, with_preset, zone_of_form
from articles.exceptions import ArticleError
from articles.models import BulkAction, BulkActionItem, Revision
from articles.permissions import reads_articles
from articles.publishing import (
    advance_bulk_action,
    gather_articles,
    may_be_undone,
    start_bulk_action,
    undo_bulk_action,
)
from articles.workflow import TRANSITIONS, Input, Transition
from scheduling.database import read_database_clock

MAX_REFUSALS = 200  # refused articles on the page; the others are counted
NAMED = 10  # selected articles that the confirmation names
MAX_BULK_ACTIONS = 20  # bulk actions in a user's list

_FORMS: dict[Input, type[Form]] = {Input.TIME: ScheduleForm, Input.MINUTES: RescheduleForm}

_ASKING = frozenset({"preset", "look"})


def asks_first(transition: Transition) -> bool:
    """Whether it needs input or a confirmation before it starts."""
    rule = TRANSITIONS[transition]
    return rule.input is not Input.NONE or rule.bulk_confirmation is not None


def begin(request: HttpRequest, transition: Transition, articles: Any) -> HttpResponse:
    """Create a bulk action from the selected articles and redirect to its page."""
    try:
        bulk_action = gather_articles(
            transition, list(articles.order_by("pk").values_list("pk", "title")), by=request.user
        )
    except ArticleError as refusal:
        messages.error(request, str(refusal))
        return redirect("admin:articles_article_changelist")
    if not asks_first(transition):
        start_bulk_action(bulk_action)
    return redirect("desk_bulk_action", bulk_action.pk)


@never_cache
def show(request: HttpRequest, pk: int) -> HttpResponse:
    """Show confirmation or progress; POST confirms."""
    bulk_action = _mine(request, pk)
    if bulk_action.started_at is not None:
        return _page(request, bulk_action, "bulk_action", _state(bulk_action))
    with timezone.override(zone_of_form(request.POST)):
        return _question(request, bulk_action, read_database_clock())


def _question(request: HttpRequest, bulk_action: BulkAction, now: datetime) -> HttpResponse:
    """Ask for input or a confirmation; a quick choice, or a script that looks, starts nothing."""
    posted = with_preset(request.POST, "publish_at", now) if request.method == "POST" else None
    form = _FORMS.get(TRANSITIONS[Transition(bulk_action.transition)].input, Form)(posted)
    if form.is_valid() and _ASKING.isdisjoint(request.POST):
        try:
            start_bulk_action(bulk_action, **form.cleaned_data)
            return redirect("desk_bulk_action", bulk_action.pk)
        except ArticleError as refusal:
            form.add_error(next(iter(form.fields), None), str(refusal))
    context = {"form": form, **_chosen(bulk_action), **_time_hints(form, bulk_action, now)}
    name = "bulk_action_hints" if "look" in request.POST else "bulk_action_form"
    return _page(request, bulk_action, name, context)


def _time_hints(form: Form, bulk_action: BulkAction, now: datetime) -> dict[str, Any]:
    """Quick choices, and what to know about the time, for a form that asks for one."""
    if not isinstance(form, ScheduleForm):
        return {}
    at = form.cleaned_data.get("publish_at") if form.is_bound else None
    hints = ScheduleHints(bulk_action, at, now)
    return {
        "presets": [(name, label) for name, (label, _wall) in quick_times(now).items()],
        "times": hints.times,
        "warnings": list(hints.warnings()),
        "checks": hints.checks(),
        "unchecked": hints.unchecked(),
        "is_chosen": "preset" in form.data and at is not None,
    }


@never_cache
@require_POST
def advance(request: HttpRequest, pk: int) -> HttpResponse:
    """Process the next chunk; scripts get the progress fragment, other browsers a redirect."""
    bulk_action = _mine(request, pk)
    advance_bulk_action(bulk_action.pk)
    if "X-Requested-With" not in request.headers:
        return redirect("desk_bulk_action", pk)
    bulk_action.refresh_from_db()
    return TemplateResponse(
        request, "articles/desk/bulk_action_progress.html", {"bulk_action": bulk_action, **_state(bulk_action)}
    )


@require_POST
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Start the undo."""
    try:
        undoing = undo_bulk_action(_mine(request, pk), by=request.user)
    except ArticleError as refusal:
        messages.error(request, str(refusal))
        return redirect("desk_bulk_action", pk)
    return redirect("desk_bulk_action", undoing.pk)


def mine(request: HttpRequest) -> HttpResponse:
    """The user's latest bulk actions."""
    now = read_database_clock()
    bulk_actions = BulkAction.objects.of(request.user).filter(started_at__isnull=False)[:MAX_BULK_ACTIONS]
    rows = [
        (bulk_action, title_of(bulk_action), bulk_action.counts(), may_be_undone(bulk_action, now))
        for bulk_action in bulk_actions
    ]
    context = {
        **admin.site.each_context(request),
        "title": _("My bulk actions"),
        "rows": rows,
    }
    return TemplateResponse(request, "articles/desk/bulk_actions.html", context)


def recent(request: HttpRequest) -> BulkAction | None:
    """The user's latest bulk action if it is running or can be undone."""
    bulk_action = BulkAction.objects.of(request.user).filter(started_at__isnull=False, undoes__isnull=True).first()
    if bulk_action is None or hasattr(bulk_action, "undone_by"):
        return None
    is_open = bulk_action.finished_at is None or may_be_undone(bulk_action, read_database_clock())
    return bulk_action if is_open else None


def title_of(bulk_action: BulkAction) -> str:
    """The title, also of an undo."""
    label = str(TRANSITIONS[Transition(bulk_action.transition)].label)
    return _("Undo: %(step)s") % {"step": label} if bulk_action.is_undo else label


def _mine(request: HttpRequest, pk: int) -> BulkAction:
    """The user's bulk action. Raises 403 without a role, since its pages name articles."""
    if not reads_articles(request.user):
        raise PermissionDenied
    return get_object_or_404(BulkAction.objects.of(request.user).select_related("undoes"), pk=pk)


def _chosen(bulk_action: BulkAction) -> dict[str, Any]:
    count, items = bulk_action.items.count(), bulk_action.items.order_by("pk")
    rule = TRANSITIONS[Transition(bulk_action.transition)]
    if rule.input is Input.REVISION:
        return {**_to_approve(items), "count": count, "button": rule.label}
    return {
        "chosen": list(items[:NAMED]),
        "count": count,
        "more": max(count - NAMED, 0),
        "button": rule.label,
        "warning": rule.bulk_confirmation,
        "may_be_undone": rule.is_undoable,
    }


def _to_approve(items: QuerySet[BulkActionItem]) -> dict[str, Any]:
    """All texts to approve, with their times: only texts shown on the page are approved."""
    numbers = {(item.article_id, item.revision) for item in items}
    found = Revision.objects.filter(article__in={pk for pk, _number in numbers}).select_related("author")
    shown = {pair: one for one in found.defer("body") if (pair := (one.article_id, one.number)) in numbers}
    rows = [(item, shown.get((item.article_id, item.revision or 0))) for item in items]
    return {"to_approve": [(item, revision, _planned(revision)) for item, revision in rows]}


def _planned(revision: Revision | None) -> datetime | None:
    """The time at which readers would see the text."""
    times = [(revision and revision.context or {}).get(name) for name in ("publish_at", "embargo_until")]
    update_at = (revision and revision.context or {}).get("update_at")
    chosen = [update_at] if update_at else times if times[0] else []
    return max((datetime.fromisoformat(time) for time in chosen if time), default=None)


def _state(bulk_action: BulkAction) -> dict[str, Any]:
    counts = bulk_action.counts()
    refused = bulk_action.items.filter(state=BulkActionItem.State.REFUSED).order_by("pk")[:MAX_REFUSALS]
    return {
        **counts,
        "handled": counts["done"] + counts["refused"],
        "sentence": _sentence(bulk_action, counts),
        "refusals": list(refused),
        "more_refusals": max(counts["refused"] - MAX_REFUSALS, 0),
        "may_undo": may_be_undone(bulk_action, read_database_clock()),
        "undone_by": getattr(bulk_action, "undone_by", None),
    }


def _sentence(bulk_action: BulkAction, counts: dict[str, int]) -> str:
    handled, total = counts["done"] + counts["refused"], counts["total"]
    if bulk_action.finished_at is None:
        return _("%(handled)d of %(total)d") % {"handled": handled, "total": total}
    done = ngettext("%d article updated", "%d articles updated", counts["done"]) % counts["done"]
    if not counts["refused"]:
        return done
    left = ngettext("%d skipped", "%d skipped", counts["refused"]) % counts["refused"]
    return f"{done} · {left}"


def _page(request: HttpRequest, bulk_action: BulkAction, name: str, context: dict[str, Any]) -> HttpResponse:
    context |= {
        **admin.site.each_context(request),
        "title": title_of(bulk_action),
        "bulk_action": bulk_action,
    }
    return TemplateResponse(request, f"articles/desk/{name}.html", context)
