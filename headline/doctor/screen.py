"""The System screen: what `manage.py doctor` prints, for users who may see tasks."""

from __future__ import annotations

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from articles.permissions import may_see_system
from headline.doctor.examine import examine
from headline.doctor.findings import Level, worst


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def system(request: HttpRequest) -> HttpResponse:
    """Show the findings; a POST also contacts the mail server and the proxies."""
    if not may_see_system(request.user):
        raise PermissionDenied
    found = examine(outward=request.method == "POST")
    summary = {
        Level.OK: _("All is well."),
        Level.WARNING: _("It works, with warnings."),
        Level.FAILURE: _("Something does not work."),
    }
    level = worst(found)
    context = {
        **admin.site.each_context(request),
        "title": _("System status"),
        "findings": sorted(found, key=lambda finding: list(Level).index(finding.level), reverse=True),
        "level": level,
        "summary": summary[level],
    }
    return TemplateResponse(request, "headline/system.html", context)
