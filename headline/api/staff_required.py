"""Who asks, for addresses that people and programs share."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.views import APIView

from headline.api.models import ApiToken, Scope


def requesting_user(request: HttpRequest) -> Any:
    """Who is signed in by session, or by a token that may read the newsroom; somebody anonymous otherwise."""
    before = request.user
    asked = Request(request, authenticators=[kind() for kind in APIView.authentication_classes])
    try:
        user, token = asked.user, asked.auth
    except APIException:
        return AnonymousUser()
    finally:
        request.user = before  # DRF writes its finding there
    return AnonymousUser() if isinstance(token, ApiToken) and Scope.DESK_READ not in token.scopes else user
