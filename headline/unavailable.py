"""503 with `Retry-After`, instead of 500, while the database or the machine is in trouble.

Django calls the handler for every exception that a view, a template or a middleware raises. A middleware would not see
those of the others, because Django turns exceptions into responses between them.
"""

from __future__ import annotations

import sys
from http import HTTPStatus

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader
from django.utils.translation import gettext as _
from django.views import defaults

from scheduling.failures import Trouble, trouble_of

RETRY_AFTER = 5  # seconds


def server_error(request: HttpRequest) -> HttpResponse:
    """The response to an exception: 503 if a repeated request may succeed without a change of the code, else 500."""
    error = sys.exc_info()[1]
    return _unavailable(request) if error and is_outage(error) else defaults.server_error(request)


def is_outage(error: BaseException) -> bool:
    """Whether the database or the machine caused the error; what it refuses for other reasons may be our fault."""
    trouble = trouble_of(error)
    return trouble not in (None, Trouble.REFUSED) or (
        trouble is Trouble.REFUSED and isinstance(error, OperationalError | InterfaceError)
    )


def _unavailable(request: HttpRequest) -> HttpResponse:
    """As JSON for programs and for scripts of our pages; renders nothing that needs the database."""
    message = _(
        "The database cannot be used at the moment. Please try again; what you just sent may not have been saved."
    )
    response: HttpResponse
    is_api = request.path.startswith("/api/")
    if is_api or request.headers.get("Sec-Fetch-Mode", "navigate") != "navigate":
        response = JsonResponse({"detail": message, "code": "unavailable", **({} if is_api else {"error": message})})
    else:
        response = HttpResponse(loader.get_template("503.html").render())
    response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    response.headers["Retry-After"] = str(RETRY_AFTER)
    response.headers["Cache-Control"] = "private, no-store"
    return response
