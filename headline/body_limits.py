"""Limits of request bodies by address, checked by the declared length and charset before anything is read.

Articles and files of signed-in users are limited by Django, with `DATA_UPLOAD_MAX_MEMORY_SIZE`.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from articles.limits import ENDED_SESSION_BODY, ORDINARY_BODY, PUSH_BODY, SMALL_BODY
from headline.admission import OF_STAFF

_ALWAYS_SMALL = ("/admin/login/", "/api/v1/token/")
_PUSHES = "/push/"
_SAML = "/admin/sso/saml/"  # has a limit of its own
_LARGEST = ("/admin/articles/", *(f"/api/v1/desk/{name}/" for name in ("articles", "images", "templates", "words")))
"""Those where they send articles, templates, lists of words and files."""

_CHARSETS = frozenset(
    {"utf-8", "ascii", "iso8859-1", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "gb2312", "gbk", "gb18030", "big5"}
)
"""By Python's names. Its others need quadratic time, yield halves of characters, or are no charsets, such as bz2."""

_WITH_BODIES = ("POST", "PUT", "PATCH")
"""The methods that change by a body. Proxies may not know whether requests by others have one."""


class BodyLimitMiddleware:
    """Refuses larger bodies by 413, other charsets by 415, and bodies without a length by 411, before anything reads
    them; adds `body_length`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        # Django sets the encoding if Python knows the charset of the header.
        if request.encoding and codecs.lookup(request.encoding).name not in _CHARSETS:
            message = _("Send the request body in UTF-8.")
            return _refusal(request, message, "unsupported_media_type", HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        # Django reads nothing of such a body: a change would seem to be stored, and an option to be left out.
        if "HTTP_TRANSFER_ENCODING" in request.META and request.method in _WITH_BODIES:
            return _refusal(request, _("Send the length of the body."), "no_length", HTTPStatus.LENGTH_REQUIRED)
        length = request.body_length = _length(request)  # type: ignore[attr-defined]
        most = limit_of(request) if length > PUSH_BODY else None  # the smallest
        if most is not None and length > most:
            message = _("The request body is too large.")
            return _refusal(request, message, "too_large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return self._get_response(request)


def limit_of(request: HttpRequest) -> int | None:
    """The largest body of this request in bytes; None if Django limits it."""
    if request.path_info == _PUSHES:
        return PUSH_BODY
    if request.path_info.startswith(_ALWAYS_SMALL) or not request.path_info.startswith(OF_STAFF):
        return SMALL_BODY
    if request.path_info.startswith(_SAML):
        return None
    # An API checks a token before it reads the body.
    if request.user.is_authenticated or (request.path_info.startswith("/api/") and "Authorization" in request.headers):
        return None if request.path_info.startswith(_LARGEST) else ORDINARY_BODY
    return ENDED_SESSION_BODY if settings.SESSION_COOKIE_NAME in request.COOKIES else SMALL_BODY


def _length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isdecimal() else 0


def _refusal(request: HttpRequest, message: str, code: str, status: HTTPStatus) -> HttpResponse:
    if request.path_info.startswith("/api/"):
        return JsonResponse({"detail": message, "code": code}, status=status)
    return HttpResponse(message, status=status, content_type="text/plain; charset=utf-8")
