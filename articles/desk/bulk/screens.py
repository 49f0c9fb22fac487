"""The screens of a step with many articles: what it asks, how far it got, what was refused, and its undoing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from articles.desk.articles.forms import MoveForm, ScheduleForm
from articles.exceptions import ArticleError
from articles.models import Batch, BatchItem, Revision
from articles.publishing import (
    UNDOABLE,
    advance_bulk_action,
    gather_articles,
    may_be_undone,
    start_bulk_action,
    undo_bulk_action,
)
from articles.workflow import STEPS, Step
from scheduling.services import read_database_clock

SHOWN = 200  # refused articles on the screen; the others are counted
NAMED = 10  # chosen articles that are named before the step is taken
KEPT = 20  # batches in the list of one's own

FORMS: dict[Step, type[Form]] = {
    Step.APPROVE: Form,
    Step.SCHEDULE: ScheduleForm,
    Step.MOVE: MoveForm,
    Step.PUBLISH_NOW: Form,
    Step.WITHDRAW: Form,
    Step.RESTORE: Form,
}
"""The steps that ask before they are taken, and what for: `APPROVE` shows what is approved, and what readers notice at
once asks at all.
"""

WARNINGS = {
    Step.PUBLISH_NOW: gettext_lazy("Readers will see them at once; this cannot be undone, but they can be withdrawn."),
    Step.WITHDRAW: gettext_lazy("Readers will not see them from that moment on."),
    Step.RESTORE: gettext_lazy("Readers will see them again at once, with the dates they had."),
}


def begin(request: HttpRequest, step: Step, articles: Any) -> HttpResponse:
    """Gather the chosen articles and go where the step is followed, or asked about."""
    try:
        batch = gather_articles(step, list(articles.order_by("pk").values_list("pk", "title")), by=request.user)
    except ArticleError as refusal:
        messages.error(request, str(refusal))
        return redirect("admin:articles_article_changelist")
    if step not in FORMS:
        start_bulk_action(batch)
    return redirect("desk_batch", batch.pk)


@never_cache
def show(request: HttpRequest, pk: int) -> HttpResponse:
    """The question, or how far it got; with POST the answer."""
    batch = _mine(request, pk)
    if batch.started_at is not None:
        return _page(request, batch, "batch", _state(batch))
    form = FORMS.get(Step(batch.step), Form)(request.POST if request.method == "POST" else None)
    if form.is_valid():
        try:
            start_bulk_action(batch, **form.cleaned_data)
            return redirect("desk_batch", batch.pk)
        except ArticleError as refusal:
            form.add_error(next(iter(form.fields), None), str(refusal))
    return _page(request, batch, "batch_question", {"form": form, **_chosen(batch)})


@never_cache
@require_POST
def advance(request: HttpRequest, pk: int) -> HttpResponse:
    """Do the next chunk; the script gets the inside of the page, a browser without scripts is sent to the page."""
    batch = _mine(request, pk)
    advance_bulk_action(batch.pk)
    if "X-Requested-With" not in request.headers:
        return redirect("desk_batch", pk)
    batch.refresh_from_db()
    return TemplateResponse(request, "articles/desk/batch_inside.html", {"batch": batch, **_state(batch)})


@require_POST
def undo(request: HttpRequest, pk: int) -> HttpResponse:
    """Begin to put back what it did."""
    try:
        undoing = undo_bulk_action(_mine(request, pk), by=request.user)
    except ArticleError as refusal:
        messages.error(request, str(refusal))
        return redirect("desk_batch", pk)
    return redirect("desk_batch", undoing.pk)


def mine(request: HttpRequest) -> HttpResponse:
    """The latest of one's own."""
    now = read_database_clock()
    batches = Batch.objects.of(request.user).filter(started_at__isnull=False)[:KEPT]
    rows = [(batch, title_of(batch), batch.counts(), may_be_undone(batch, now)) for batch in batches]
    context = {
        **admin.site.each_context(request),
        "title": _("My steps with many articles"),
        "rows": rows,
    }
    return TemplateResponse(request, "articles/desk/batches.html", context)


def recent(request: HttpRequest) -> Batch | None:
    """One's latest batch, if it still runs or can be undone: the list of articles leads to it."""
    batch = Batch.objects.of(request.user).filter(started_at__isnull=False, undoes__isnull=True).first()
    if batch is None or hasattr(batch, "undone_by"):
        return None
    is_open = batch.finished_at is None or may_be_undone(batch, read_database_clock())
    return batch if is_open else None


def title_of(batch: Batch) -> str:
    """What is done, and that it is undone."""
    label = str(STEPS[Step(batch.step)].label)
    return _("Undo: %(step)s") % {"step": label} if batch.is_undo else label


def _mine(request: HttpRequest, pk: int) -> Batch:
    return get_object_or_404(Batch.objects.of(request.user).select_related("undoes"), pk=pk)


def _chosen(batch: Batch) -> dict[str, Any]:
    count, items, step = batch.items.count(), batch.items.order_by("pk"), Step(batch.step)
    if step is Step.APPROVE:
        return {**_to_approve(items), "count": count, "button": STEPS[step].label}
    return {
        "chosen": list(items[:NAMED]),
        "count": count,
        "more": max(count - NAMED, 0),
        "button": STEPS[step].label,
        "warning": WARNINGS.get(step),
        "may_be_undone": step in UNDOABLE,
    }


def _to_approve(items: QuerySet[BatchItem]) -> dict[str, Any]:
    """Every text that would be approved, with its times: nobody approves what was not on the screen."""
    numbers = {(item.article_id, item.revision) for item in items}
    found = Revision.objects.filter(article__in={pk for pk, _number in numbers}).select_related("author")
    shown = {pair: one for one in found.defer("body") if (pair := (one.article_id, one.number)) in numbers}
    rows = [(item, shown.get((item.article_id, item.revision or 0))) for item in items]
    return {"to_approve": [(item, revision, _planned(revision)) for item, revision in rows]}


def _planned(revision: Revision | None) -> datetime | None:
    """When readers would see it."""
    times = [(revision and revision.context or {}).get(name) for name in ("publish_at", "embargo_until")]
    update_at = (revision and revision.context or {}).get("update_at")
    chosen = [update_at] if update_at else times if times[0] else []
    return max((datetime.fromisoformat(time) for time in chosen if time), default=None)


def _state(batch: Batch) -> dict[str, Any]:
    counts = batch.counts()
    refused = batch.items.filter(state=BatchItem.State.REFUSED).order_by("pk")[:SHOWN]
    return {
        **counts,
        "handled": counts["done"] + counts["refused"],
        "sentence": _sentence(batch, counts),
        "refusals": list(refused),
        "more_refusals": max(counts["refused"] - SHOWN, 0),
        "may_undo": may_be_undone(batch, read_database_clock()),
        "undone_by": getattr(batch, "undone_by", None),
    }


def _sentence(batch: Batch, counts: dict[str, int]) -> str:
    handled, total = counts["done"] + counts["refused"], counts["total"]
    if batch.finished_at is None:
        return _("%(handled)d of %(total)d") % {"handled": handled, "total": total}
    done = ngettext("Done with %d article.", "Done with %d articles.", counts["done"]) % counts["done"]
    if not counts["refused"]:
        return done
    left = ngettext("%d was left as it is.", "%d were left as they are.", counts["refused"]) % counts["refused"]
    return f"{done} {left}"


def _page(request: HttpRequest, batch: Batch, name: str, context: dict[str, Any]) -> HttpResponse:
    context |= {
        **admin.site.each_context(request),
        "title": title_of(batch),
        "batch": batch,
    }
    return TemplateResponse(request, f"articles/desk/{name}.html", context)
