"""Who asks, for addresses that people and programs share."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.settings import api_settings


def person_asking(request: HttpRequest) -> Any:
    """The user who is signed in by session or token, as in the API; somebody anonymous otherwise."""
    before = request.user
    try:
        authenticators = [kind() for kind in api_settings.DEFAULT_AUTHENTICATION_CLASSES]
        return Request(request, authenticators=authenticators).user
    except APIException:
        return before
    finally:
        request.user = before  # DRF writes its finding there
