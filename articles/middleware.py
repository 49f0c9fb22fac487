"""What holds while a request of the newsroom is answered: by which door it came in, and how its person reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import ValidationError
from django.core.paginator import InvalidPage
from django.db.models import Field
from django.http import HttpRequest, HttpResponseBadRequest, HttpResponseBase
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from articles.audit import Source, source
from articles.notifications import speaking_to


class NoStoreMiddleware:
    """No cache keeps what does not say how long it stays true: the desk, drafts, forms, addresses of nothing."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class SourceMiddleware:
    """The newsroom's screens are one door; every other address that changes something is the programs'."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = Source.ADMIN if _is_of_the_desk(request) else Source.API
        with source(name, by=request.user):
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


class ForgedNumbersMiddleware:
    """No form or address of the newsroom sends such a number or choice: whoever forged it is told so, not "500"."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, options: Any) -> HttpResponseBase | None:
        """Before a list's action: each chosen row has a key as the list's rows have."""
        screen = getattr(view, "model_admin", None)
        if screen is None or not request.user.is_staff or ACTION_CHECKBOX_NAME not in request.POST:
            return None
        key = screen.model._meta.pk
        is_known = all(_is_key(key, text) for text in request.POST.getlist(ACTION_CHECKBOX_NAME))
        return None if is_known else HttpResponseBadRequest(_("What is chosen is not in this list: open it again."))

    def process_exception(self, request: HttpRequest, fault: Exception) -> HttpResponseBase | None:
        """SQLite takes no number beyond 64 bits, where MariaDB finds nothing; a list has only so many pages."""
        if not _is_of_the_desk(request):
            return None
        if isinstance(fault, InvalidPage):
            return HttpResponseBadRequest(_("There is no such page: open the first one again."))
        if isinstance(fault, OverflowError):
            return HttpResponseBadRequest(_("A number is larger than any here: open the page again."))
        return None


def _is_key(key: Field[Any, Any], text: str) -> bool:
    try:
        key.run_validators(key.to_python(text))
    except ValidationError:
        return False
    return bool(text)


def _is_of_the_desk(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))
