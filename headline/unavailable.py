"""503 with `Retry-After`, instead of 500, while the database or the machine is in trouble.

Django calls the handler for every exception that a view, a template or a middleware raises. A middleware would not see
those of the others, because Django turns exceptions into responses between them. The log has one line when that begins,
one a minute while it lasts and one when it is over, not a traceback for each request.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from http import HTTPStatus

from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.template import loader
from django.utils.translation import gettext as _
from django.views import defaults

from scheduling.database import Trouble, trouble_of
from scheduling.incidents import incidents

logger = logging.getLogger(__name__)

RETRY_AFTER = 5  # seconds
_SOURCE = "requests"
_QUIET = 5.0  # seconds without a failure after which an outage is over: at its end some connections still fail
_SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_OF_WRITES = frozenset({Trouble.DISK_FULL, Trouble.READ_ONLY})


def server_error(request: HttpRequest) -> HttpResponse:
    """The response to an exception: 503 if a repeated request may succeed without a change of the code, else 500."""
    error = sys.exc_info()[1]
    if error is None or not is_outage(error):
        return defaults.server_error(request)
    incidents.failed(logger, _SOURCE, "requests are answered with 503", error, level=logging.WARNING)
    return _unavailable(request, trouble_of(error))


class RecoveryMiddleware:
    """Notes requests that the database has answered, because they may end an outage."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if response.status_code < HTTPStatus.INTERNAL_SERVER_ERROR and connection.connection is not None:
            incidents.succeeded(_SOURCE, quiet=_QUIET, but=_OF_WRITES if request.method in _SAFE else frozenset())
        return response


def is_outage(error: BaseException) -> bool:
    """Whether the database or the machine caused the error; what it refuses for other reasons may be our fault."""
    trouble = trouble_of(error)
    return trouble not in (None, Trouble.REFUSED) or (
        trouble is Trouble.REFUSED and isinstance(error, OperationalError | InterfaceError)
    )


def _unavailable(request: HttpRequest, trouble: Trouble | None) -> HttpResponse:
    """As JSON for programs and for scripts of our pages; renders nothing that needs the database."""
    if is_stopped := trouble is Trouble.STOPPED:
        message = _("This took too long. Please ask for less at once; what you just sent may not have been saved.")
    else:
        message = _(
            "The database cannot be used at the moment. Please try again; what you just sent may not have been saved."
        )
    response: HttpResponse
    is_api = request.path.startswith("/api/")
    if is_api or request.headers.get("Sec-Fetch-Mode", "navigate") != "navigate":
        response = JsonResponse({"detail": message, "code": "unavailable", **({} if is_api else {"error": message})})
    else:
        response = HttpResponse(loader.get_template("503.html").render({"message": message if is_stopped else ""}))
    response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    response._has_been_logged = True  # type: ignore[attr-defined] # or Django logs a traceback for each
    response.headers["Retry-After"] = str(RETRY_AFTER)
    response.headers["Cache-Control"] = "private, no-store"
    return response
