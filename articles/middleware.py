"""What holds while a request of the newsroom is answered: by which door it came in, and how its person reads."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import reverse
from django.utils.translation import get_language

from articles.services.preferences import speaking_to
from articles.services.recording import Door, door


class KeptNowhereMiddleware:
    """No cache keeps what does not say how long it stays true: the desk, drafts, forms, addresses of nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class DoorMiddleware:
    """The newsroom's screens are one door; every other address that changes something is the programs'."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = Door.ADMIN if _is_of_the_desk(request) else Door.API
        with door(name, by=request.user):
            return self.get_response(request)


class PreferencesMiddleware:
    """The newsroom's screens speak to each person in the chosen zone and language; readers' pages do not."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not _is_of_the_desk(request):
            return self.get_response(request)
        with speaking_to(request.user):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", get_language())
            return response


def _is_of_the_desk(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))
