"""Telling the audit record by which door a request came in."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse

from articles.services.recording import Door, door


class DoorMiddleware:
    """The newsroom's screens are one door; every other address that changes something is the programs'."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = Door.ADMIN if request.path.startswith(reverse("admin:index")) else Door.API
        with door(name, by=request.user):
            return self.get_response(request)
