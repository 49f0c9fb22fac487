"""The dashboard page, and its content alone for refreshes."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from articles.desk.dashboard import attention, engine, risks
from articles.desk.dashboard.chart import HEIGHT, WIDTH, chart
from articles.desk.dashboard.overdue import overdue
from articles.desk.dashboard.recent import recently_published
from articles.desk.review.proposed_changes import waiting_for
from articles.desk.upcoming import MAX_UPCOMING, upcoming
from articles.permissions import OPERATE
from articles.text import zone_label
from scheduling.database import read_database_clock
from scheduling.exceptions import SchedulingError
from scheduling.services import retry_task

VIEW_PERMISSION = "articles.view_article"


def add_sections(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Fill the admin index; unfold's `DASHBOARD_CALLBACK`."""
    return {**context, "title": _("Dashboard"), **_sections(request)}


@never_cache
@require_safe
def inside(request: HttpRequest) -> HttpResponse:
    """The refreshed content of the page."""
    return TemplateResponse(request, "articles/desk/dashboard/content.html", _sections(request))


@require_POST
def retry(request: HttpRequest, task_id: int) -> HttpResponse:
    """Retry a dead task."""
    if not request.user.has_perm(OPERATE):
        raise PermissionDenied
    try:
        retry_task(task_id)
    except SchedulingError as refusal:
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The task will be retried."))
    return redirect("admin:index")


def _sections(request: HttpRequest) -> dict[str, Any]:
    now, user = read_database_clock(), request.user
    found: dict[str, Any] = {
        "now": round(now.timestamp() * 1000),
        "zone": zone_label(now),
        "health": engine.health(user, now),
        "failures": engine.failures(user),
        "may_retry": user.has_perm(OPERATE),
        "chart": chart(now),
        "chart_size": {"width": WIDTH, "height": HEIGHT},
    }
    return found | _articles(user, now) if user.has_perm(VIEW_PERMISSION) else found


def _articles(user: Any, now: Any) -> dict[str, Any]:
    return {
        "may_read": True,
        "up_next": upcoming(user, now, limit=MAX_UPCOMING),
        "recently_published": recently_published(now),
        "overdue": overdue(user, now),
        "at_risk": risks.at_risk(user, now),
        "proposed_changes": waiting_for(user, attention.MAX_WAITING),
        "in_review": attention.in_review(user, now),
        "drafts": attention.drafts(user),
        "is_reviewer": attention.reviews(user),
    }
