"""Views of the calendar: display, reschedule and undo."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import quote

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from articles.desk.calendar import layout
from articles.desk.calendar.base import page, require_look, users
from articles.desk.calendar.conflicts import mark_conflicts
from articles.desk.calendar.entries import EntryKind, Mark
from articles.desk.calendar.grid import Sheet
from articles.desk.calendar.parameters import Choice, read_date
from articles.desk.calendar.period import View
from articles.desk.calendar.reschedule_form import LAST_RESCHEDULED, Answer, RescheduleEntryForm, response_to, undo
from articles.desk.calendar.sources import SOURCES
from articles.desk.calendar.subjects import subject_named
from articles.desk.calendar.version import answer_if_unchanged, following_of
from articles.desk.monitoring.filters import BOARD, Filters
from articles.models import Channel
from scheduling.database import read_database_clock

STATUSES = {"not_allowed": HTTPStatus.FORBIDDEN, "": HTTPStatus.OK}
"""HTTP status by error code; all others are 409 Conflict."""


@require_safe
def calendar(request: HttpRequest) -> HttpResponse:
    """Show a month, week or day."""
    require_look(request)
    now = read_database_clock()
    if unchanged := answer_if_unchanged(request, now):
        return unchanged
    choice = Choice.of(request.GET, timezone.localtime(now).date())
    if request.GET.get("date") and read_date(request.GET["date"]) is None:
        messages.warning(request, _("“%s” is not a date. Showing today.") % request.GET["date"][:40])
    sheet = Sheet(choice, by=request.user, now=now)
    for source in SOURCES:
        source(sheet)
    sheet.fold()
    mark_conflicts(sheet)
    context = {
        "title": _("Calendar"),
        "choice": choice,
        "heading": layout.heading(choice.period),
        "zone": layout.zone(choice.period),
        "now": now,
        "days_template": f"articles/desk/calendar/{'month' if choice.view is View.MONTH else 'hours'}.html",
        "days": layout.days(sheet),
        "weekdays": layout.weekdays(choice.period),
        "tabs": [(view.label, choice.address(view=view), view is choice.view) for view in View],
        "previous": choice.address(day=choice.period.previous),
        "next": choice.address(day=choice.period.next),
        "today": f"{choice.address(day=timezone.localtime(now).date())}#now",
        "channels": Channel.objects.all(),
        "people": users(),
        "kinds": EntryKind,
        "marks": Mark,
        "here": choice.address(),
        "reschedule_address": f"{reverse('calendar-reschedule')}?back={quote(choice.address())}&key=",
        "last_rescheduled": request.session.get(LAST_RESCHEDULED),
        "follow": following_of(sheet, request).as_json(),
    }
    return page(request, "calendar", context)


def reschedule(request: HttpRequest) -> HttpResponse:
    """Reschedule form for keyboard and touch; the script posts to it, too."""
    require_look(request)
    if request.method != "POST":
        return _form(request, RescheduleEntryForm(initial=_initial(request)))
    form = RescheduleEntryForm(request.POST)
    answer = response_to(form, request)
    if request.headers.get("Accept") == "application/json":
        return JsonResponse(answer.as_json(), status=STATUSES.get(answer.code, HTTPStatus.CONFLICT))
    if answer.is_done:
        return _back(request, answer, form.cleaned_data["back"])
    if form.is_valid():
        form.reject(answer.message)
    return _form(request, form, answer)


@require_POST
def undo_reschedule(request: HttpRequest) -> HttpResponse:
    """Undo the last rescheduling."""
    require_look(request)
    return _back(request, undo(request), request.POST.get("back", ""))


def _initial(request: HttpRequest) -> dict[str, Any]:
    """The form for the requested entry with its current time."""
    try:
        subject = subject_named(request.GET.get("key", ""))
    except ValidationError as error:
        raise Http404 from error
    if not subject.may_be_seen(request.user):
        raise Http404
    return {"key": subject.key, "seen": subject.time, "at": subject.time, "back": request.GET.get("back", "")}


def _form(request: HttpRequest, form: RescheduleEntryForm, answer: Answer | None = None) -> HttpResponse:
    back = form["back"].value() or ""
    try:
        subject = subject_named(form["key"].value() or "")
    except ValidationError:
        return _back(request, answer or Answer(_("This entry does not exist."), "gone"), back)
    context = {
        "title": _("Reschedule “%s”") % subject.title,
        "form": form,
        "state": subject.state,
        "answer": answer,
        "back": _address(request, back),
    }
    return page(request, "reschedule", context)


def _back(request: HttpRequest, answer: Answer, back: str) -> HttpResponse:
    messages.add_message(request, messages.SUCCESS if answer.is_done else messages.ERROR, answer.message)
    return redirect(_address(request, back))


def _address(request: HttpRequest, back: str) -> str:
    """The board or calendar page to return to; only known parameters of `back` are used."""
    page, _mark, query = back.partition("?")
    if page == BOARD:
        return reverse(BOARD) + Filters.of(QueryDict(query)).query()
    today = timezone.localtime(read_database_clock()).date()
    return reverse("calendar") + Choice.of(QueryDict(query), today).address()
