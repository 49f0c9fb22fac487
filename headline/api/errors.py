"""Error responses of Django REST framework, with a stable `code` added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import UnreadablePostError
from django.utils.translation import gettext_lazy as _
from rest_framework import status
from rest_framework.exceptions import APIException, ErrorDetail, ParseError
from rest_framework.response import Response
from rest_framework.settings import api_settings
from rest_framework.views import exception_handler

MIXED = "invalid"


class BodyTooLarge(APIException):
    """The body exceeds `DATA_UPLOAD_MAX_MEMORY_SIZE`."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_detail = _("The request body is too large.")
    default_code = "too_large"


def with_code(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's response to `error` with a `code`: the common code of all errors, or "invalid" if they differ."""
    if isinstance(error, RequestDataTooBig):
        error = BodyTooLarge()
    elif isinstance(error, UnreadablePostError):
        error = ParseError()
    response = exception_handler(error, context)
    if response is None:
        return None
    if isinstance(response.data, list):
        response.data = {api_settings.NON_FIELD_ERRORS_KEY: response.data}
    codes = set(_codes(response.data))
    response.data["code"] = codes.pop() if len(codes) == 1 else MIXED
    return response


def _codes(detail: Any) -> Iterator[str]:
    """Every code within a nested detail."""
    if isinstance(detail, ErrorDetail):
        yield str(detail.code)
    elif isinstance(detail, dict):
        for value in detail.values():
            yield from _codes(value)
    elif isinstance(detail, list):
        for value in detail:
            yield from _codes(value)
