"""404 responses in JSON for unknown URLs below `/api/`."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponsePermanentRedirect, JsonResponse
from django.http.response import HttpResponseBase
from django.urls import resolve
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt


@csrf_exempt
def unknown_url(request: HttpRequest) -> HttpResponseBase:
    """404. A missing slash redirects GET and HEAD; other methods get a message, since a redirect loses the body."""
    message = _("There is no such address.")
    if resolve(f"{request.path_info}/").func is not unknown_url:
        address = request.get_full_path(force_append_slash=True)
        if request.method in {"GET", "HEAD"}:
            return HttpResponsePermanentRedirect(address)
        message = _("There is no such address; addresses end with a slash: %(address)s") % {"address": address}
    return JsonResponse({"detail": message, "code": "not_found"}, status=404)
