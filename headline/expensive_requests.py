"""How many expensive requests a process works on at once, for one client and for all: 429 and 503 beyond that.

Searches, comparisons and uploads take a hundred times as long as a page. Without a limit sixteen of them occupy all
threads, and readers, health probes and articles that are due wait behind them. Nothing waits for its turn here, since
that would occupy a thread, too: clients are asked to come back.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from headline.accounts.address import address_of

EACH = 2
"""Expensive requests of one client at once; the screen for uploads sends as many."""

RETRY_AFTER = 1  # seconds

_SEARCHES = frozenset({"q", "s", "search"})
"""The parameters that search, in the newsroom and the API; `s` is that of the palette."""
_SEARCH = "search"
"""The only page of readers that does: others get such parameters from those who share their addresses."""

_COMPARISONS = frozenset(
    {
        "admin:articles_article_revision",
        "desk-revision-diff",
    }
)
_OF_STAFF = ("/admin/", "/api/v1/desk/", "/api/v1/tasks/")
"""Addresses that refuse strangers before any work."""
_IMAGES = frozenset(
    {
        *(f"admin:articles_image_{name}" for name in ("add", "change", "focus", "upload")),
        *(f"desk-image-{name}" for name in ("detail", "fetch", "list")),
        "desk-proposed-change-approve",
        "desk_approve_change",
    }
)
"""Addresses to which new images and focal points are sent, for which images are decoded."""


class _Slots:
    """The expensive requests of readers, or of staff, that this process works on, by client."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, client: str) -> HTTPStatus | None:
        """Take a slot; the status to refuse with if there is none."""
        with self._lock:
            if self._taken[client] >= EACH:
                return HTTPStatus.TOO_MANY_REQUESTS
            if self._taken.total() >= settings.EXPENSIVE_REQUESTS:
                return HTTPStatus.SERVICE_UNAVAILABLE
            self._taken[client] += 1
        return None

    def give_back(self, client: str) -> None:
        """Free a slot."""
        with self._lock:
            self._taken[client] -= 1
            if not self._taken[client]:
                del self._taken[client]


_slots = {"readers": _Slots(), "staff": _Slots()}
"""Readers leave those of staff free, and the other way round."""


class ExpensiveRequestsMiddleware:
    """Refuses expensive requests while too many of them are running."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            return self._get_response(request)
        finally:
            with suppress(AttributeError):
                slots, client = request.expensive  # type: ignore[attr-defined]
                slots.give_back(client)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Take a slot for a request that needs one; or the response that refuses it."""
        if not is_expensive(request):
            return None
        is_of_staff = request.path_info.startswith(_OF_STAFF)
        slots = _slots["staff" if is_of_staff else "readers"]
        client = _client_of(request, is_of_staff=is_of_staff)
        if refused := slots.take(client):
            return _refusal(request, refused)
        request.expensive = slots, client  # type: ignore[attr-defined]
        return None


def is_expensive(request: HttpRequest) -> bool:
    """Whether a request searches, compares texts, or has images decoded."""
    name = request.resolver_match.view_name if request.resolver_match else ""
    may_search = name == _SEARCH or request.path_info.startswith(("/admin/", "/api/"))
    return (
        (may_search and any(request.GET.get(parameter) for parameter in _SEARCHES))
        or name in _COMPARISONS
        or (name in _IMAGES and request.method in ("POST", "PATCH"))
    )


def _client_of(request: HttpRequest, *, is_of_staff: bool) -> str:
    """The token or session of staff, which the view checks before any work; the address of a reader."""
    claimed = request.headers.get("Authorization") or request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    return sha256(claimed.encode()).hexdigest() if is_of_staff and claimed else address_of(request)


def _refusal(request: HttpRequest, status: HTTPStatus) -> HttpResponse:
    if status is HTTPStatus.TOO_MANY_REQUESTS:
        message = _("Several of your requests are still running. Please try again when they are done.")
    else:
        message = _("Too many searches, comparisons and uploads are running. Please try again in a moment.")
    is_api = request.path_info.startswith("/api/")
    response: HttpResponse
    if is_api or request.headers.get("Sec-Fetch-Mode", "navigate") != "navigate":
        response = JsonResponse({"detail": message, "code": "busy", **({} if is_api else {"error": message})})
    else:
        response = HttpResponse(message, content_type="text/plain; charset=utf-8")
    response.status_code = status
    response._has_been_logged = True  # type: ignore[attr-defined] # or Django logs a line for each
    response.headers["Retry-After"] = str(RETRY_AFTER)
    response.headers["Cache-Control"] = "private, no-store"
    return response
