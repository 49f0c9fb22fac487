"""The user of a request by session or token, and its visitor's address, for plain Django views."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.views import APIView

from headline.accounts.address import full_address_of
from headline.api.models import ApiToken, Scope


class NewsroomUserMiddleware:
    """Adds `request.newsroom_user()`, which reads a token only when it is asked, and `request.client_address()`."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        request.newsroom_user = partial(_newsroom_user, request)  # type: ignore[attr-defined]
        request.client_address = partial(full_address_of, request)  # type: ignore[attr-defined]
        return self.get_response(request)


def _newsroom_user(request: HttpRequest) -> Any:
    """The user by session, or by a token that may read the newsroom; otherwise an anonymous user."""
    before = request.user
    api_request = Request(request, authenticators=[kind() for kind in APIView.authentication_classes])
    try:
        user, token = api_request.user, api_request.auth
    except APIException:
        return AnonymousUser()
    finally:
        request.user = before  # DRF sets it
    return AnonymousUser() if isinstance(token, ApiToken) and Scope.DESK_READ not in token.scopes else user
