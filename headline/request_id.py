"""WSGI middleware that gives each request an id, for log lines and the header `X-Request-ID` of the response."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scheduling.log_fields import set_log_fields

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_VARIABLE = "HTTP_X_REQUEST_ID"
_WELL_FORMED = re.compile(r"[\w.-]{8,128}", re.ASCII)
_ARTICLE = re.compile(r"/articles?/([0-9]{1,19})(?:/|$)")  # of readers, admin and API


class RequestIdMiddleware:
    """Takes the id of a proxy, if it is well formed, else makes one.

    The fields stay until the next request of the thread, because a response is sent after the call.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        given = environ.get(_VARIABLE, "")
        request_id = environ[_VARIABLE] = given if _WELL_FORMED.fullmatch(given) else f"{random.getrandbits(128):032x}"
        fields = {"request_id": request_id}
        if article := _ARTICLE.search(environ.get("PATH_INFO", "")):
            fields["article_id"] = article[1]
        set_log_fields(fields)

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            return start_response(status, [*headers, ("X-Request-ID", request_id)], exc_info)

        return self._application(environ, start)
