"""Middleware: cache headers, the audit source, users' preferences and malformed input."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import Any

from django.contrib.admin.exceptions import DisallowedModelAdminToField
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import TO_FIELD_VAR
from django.contrib.admin.views.main import ERROR_FLAG
from django.core.exceptions import ValidationError
from django.core.paginator import InvalidPage
from django.db.models import Field
from django.http import HttpRequest, HttpResponseBadRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import get_language, gettext as _

from articles.audit import Source, source
from articles.notifications import speaking_to
from articles.releases import as_due
from articles.site.reading import AT, VIEWS_OF_READERS, may_read_at, show_at

_DESK_API = "/api/v1/desk/"


class NoStoreMiddleware:
    """Forbid caching of every response that sets no `Cache-Control` itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class SourceMiddleware:
    """Set the source of audit entries: the admin, or else the API."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        name = Source.ADMIN if _is_admin(request) else Source.API
        with source(name, by=request.user):
            return self.get_response(request)


class DueMiddleware:
    """Show the newsroom, too, what readers have by the clock before a worker has stored it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_screen = request.method in ("GET", "HEAD") and request.path.startswith((reverse("admin:index"), _DESK_API))
        with as_due() if is_screen else nullcontext():
            return self.get_response(request)


class ReadingInstantMiddleware:
    """Show the site to the newsroom as of another instant; other visitors get it as it is."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, options: Any) -> HttpResponseBase | None:
        """The response at the instant that a readers' address asks for."""
        name = request.resolver_match and request.resolver_match.view_name
        if AT not in request.GET or name not in VIEWS_OF_READERS or request.method not in ("GET", "HEAD"):
            return None
        user = request.newsroom_user()  # type: ignore[attr-defined]  # by session or token
        return show_at(request, view, args, options) if may_read_at(user) else None


class PreferencesMiddleware:
    """Apply each user's time zone and language in the admin, but not on readers' pages."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not _is_admin(request):
            return self.get_response(request)
        with speaking_to(request.user):
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", get_language())
            return response


class ForgedNumbersMiddleware:
    """Answer malformed numbers and choices, which no form sends, with 400 instead of 500."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, options: Any) -> HttpResponseBase | None:
        """Check the lookups and years of filters and, before a bulk action, that the chosen rows have valid keys."""
        screen = getattr(view, "model_admin", None)
        if screen is None or not request.user.is_staff:
            return None
        lookups = {name: {*name.split("__")} for name in request.GET}
        if any(_PATTERNS & found for found in lookups.values()) or not all(
            _are_years(request.GET.getlist(name)) for name, found in lookups.items() if _YEARS & found
        ):
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")
        if "" in (request.GET.get(TO_FIELD_VAR), request.POST.get(TO_FIELD_VAR)):
            raise DisallowedModelAdminToField  # as Django does for other fields that are none
        if ACTION_CHECKBOX_NAME not in request.POST:
            return None
        key = screen.model._meta.pk
        is_known = all(_is_key(key, text) for text in request.POST.getlist(ACTION_CHECKBOX_NAME))
        return None if is_known else HttpResponseBadRequest(_("What is chosen is not in this list: open it again."))

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponseBase | None:
        """Answer a page number out of range, and a number beyond 64 bits, which SQLite cannot bind."""
        if not _is_admin(request):
            return None
        if isinstance(exception, InvalidPage):
            return HttpResponseBadRequest(_("There is no such page: open the first one again."))
        if isinstance(exception, OverflowError):
            return HttpResponseBadRequest(_("A number is larger than any here: open the page again."))
        return None


_YEARS = frozenset({"year", "iso_year"})  # lookups
_PATTERNS = frozenset(
    f"{case}{lookup}" for case in ("", "i") for lookup in ("contains", "startswith", "endswith", "regex")
)
"""Lookups that no filter uses: they compare a column of every row, and a regular expression may take long."""

_YEAR = re.compile(r"[1-9]\d{3}", re.ASCII)


def _are_years(values: Iterable[str]) -> bool:
    """Whether each has a day before and after it in every zone; Django would build the bounds of others and fail."""
    years = (year for value in values for year in value.split(","))
    return all(_YEAR.fullmatch(year) and year != "9999" for year in years)


def _is_key(key: Field[Any, Any], text: str) -> bool:
    try:
        key.run_validators(key.to_python(text))
    except ValidationError:
        return False
    return bool(text)


def _is_admin(request: HttpRequest) -> bool:
    return request.path.startswith(reverse("admin:index"))
