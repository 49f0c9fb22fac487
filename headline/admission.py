"""How many requests a process works on at once, for one person and for all; some wait, others get 429 or 503.

Requests of the newsroom and its API wait for their turn in threads that `gunicorn.conf.py` adds for that, so a person
with many tabs sees no difference, and a person with many programs leaves threads to readers and health probes.

Searches, comparisons and uploads take a hundred times as long as a page. Without a limit sixteen of them occupy all
threads. They do not wait: clients are asked to come back.

The threads share one interpreter. So that a page does not take as many times as long as others compute beside it, the
newsroom's requests and readers' expensive ones begin no statement while one is made: they give way.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from hashlib import sha256
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import auth
from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.functional import LazyObject
from django.utils.translation import gettext as _

from headline.accounts.address import address_of

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

AT_ONCE = 2
"""Requests of one person that are worked on at once: one that takes long, and what the other tabs show."""

EACH = 2
"""Expensive ones of one client at once; the screen for uploads sends as many."""

WAITING = 16
"""Further requests that wait, half of them of one person, as the tabs of a browser that starts."""

LONGEST_WAIT = 10.0  # seconds
LONGEST_LOOK = 1.0  # seconds that a request waits until its session is read
RETRY_AFTER = 1  # seconds
GIVEN_WAY = 1.0  # seconds of a request in all: it goes on, if slowly, though readers come all the time
_TURN = 0.05  # seconds before one statement
_RESERVED = 2  # threads

_SEARCHES = frozenset({"q", "s", "search"})
"""The parameters that search, in the newsroom and the API; `s` is that of the palette."""
_SEARCH = "search"
"""The only page of readers that does: others get such parameters from those who share their addresses."""
_INSTANT = "at"
"""The parameter that shows any page of readers at another instant, for which all changes until then are collected."""

_COMPARISONS = frozenset(
    {
        "admin:articles_article_revision",
        "desk-revision-diff",
    }
)
OF_STAFF = ("/admin/", "/api/v1/desk/", "/api/v1/tasks/")
"""Addresses that refuse strangers before any work."""
_PROBES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Addresses that are answered at once in any case, as `headline.doctor.middleware` has them, which needs Django."""
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
    """The requests of a kind that this process works on, by client, and those that wait for it, in their order."""

    def __init__(self, each: int, most: Callable[[], int], *, waiting: int = 0) -> None:
        self._each, self._most, self._places = each, most, waiting
        self._taken: Counter[str] = Counter()
        self._waiting: list[tuple[str, threading.Event]] = []
        self._lock = threading.Lock()

    @property
    def waiting(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def take(self, client: str) -> HTTPStatus | None:
        """Take a slot, or wait for one; the status to refuse with if there is none."""
        with self._lock:
            refused = self._refused(client)
            if refused is None:
                self._taken[client] += 1
                return None
            if full := self._full(client):
                return full if self._places else refused
            turn = client, threading.Event()
            self._waiting.append(turn)
        if turn[1].wait(LONGEST_WAIT):
            return None
        with self._lock:
            if turn[1].is_set():
                return None
            self._waiting.remove(turn)
        return refused

    def give_back(self, client: str) -> None:
        """Free a slot, for the first that waits and may take it."""
        with self._lock:
            self._taken[client] -= 1
            if not self._taken[client]:
                del self._taken[client]
            turn = next((turn for turn in self._waiting if self._refused(turn[0]) is None), None)
            if turn:
                self._taken[turn[0]] += 1
                self._waiting.remove(turn)
                turn[1].set()

    def _refused(self, client: str) -> HTTPStatus | None:
        if self._taken[client] >= self._each:
            return HTTPStatus.TOO_MANY_REQUESTS
        return HTTPStatus.SERVICE_UNAVAILABLE if self._taken.total() >= self._most() else None

    def _full(self, client: str) -> HTTPStatus | None:
        if sum(other == client for other, _turn in self._waiting) >= self._places // 2:
            return HTTPStatus.TOO_MANY_REQUESTS
        return HTTPStatus.SERVICE_UNAVAILABLE if len(self._waiting) >= self._places else None


class _Threads:
    """How many threads the web server works with, without those in which requests wait."""

    count = 8
    working: AbstractContextManager[Any] = nullcontext()
    """Held by each request that is worked on. The added threads only wait: with more at work, readers would have more
    connections to the database at once, and Redis would seem slow to them all."""

    def start(self, count: int) -> None:
        """This process works with so many."""
        self.count, self.working = count, threading.BoundedSemaphore(count)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """For a request that waits while it is worked on, such as for another that makes the same page."""
        self.working.__exit__(None, None, None)
        try:
            yield
        finally:
            self.working.__enter__()

    def at_once(self) -> int:
        """How many requests of the newsroom it works on at once; the others serve readers."""
        return max(self.count - _RESERVED, _RESERVED)


class _Pages:
    """Which requests of readers are worked on, other than expensive ones, and who gives way to them."""

    def __init__(self) -> None:
        self._count, self._lock, self._none = 0, threading.Lock(), threading.Event()
        self._none.set()

    def __enter__(self) -> None:
        with self._lock:
            self._count += 1
            self._none.clear()

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                self._none.set()

    @contextmanager
    def first(self, request: HttpRequest) -> Iterator[None]:
        """Within it `request` begins no statement while a page is made, unless it is in a transaction, with locks."""
        left = GIVEN_WAY

        def give_way(execute: Any, sql: Any, params: Any, many: bool, context: dict[str, Any]) -> Any:
            nonlocal left
            if left > 0 and not self._none.is_set() and not context["connection"].in_atomic_block:
                began = time.monotonic()
                self._none.wait(min(left, _TURN))
                left -= (waited := time.monotonic() - began)
                request.deadline.extend(waited)  # type: ignore[attr-defined]
            return execute(sql, params, many, context)

        with connection.execute_wrapper(give_way):
            yield

    @contextmanager
    def without(self, request: HttpRequest) -> Iterator[None]:
        """For an expensive request of a reader: it is none of these any more, and gives way to them."""
        self.__exit__()
        try:
            with self.first(request):
                yield
        finally:
            self.__enter__()


threads, pages = _Threads(), _Pages()
newsroom = _Slots(AT_ONCE, threads.at_once, waiting=WAITING)
_expensive = {name: _Slots(EACH, lambda: settings.EXPENSIVE_REQUESTS) for name in ("readers", "staff")}
"""Readers leave those of staff free, and the other way round."""

_people: dict[str, str] = {}
"""Whose a session or token is, by its digest: those that views have accepted, as others would be a client each."""
_MOST_PEOPLE = 10_000
_recognising = threading.BoundedSemaphore(_RESERVED)


class ReadersAdmission:
    """WSGI middleware: requests of readers are worked on as soon as one of the threads is free, and probes at once."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path in _PROBES or path.startswith(OF_STAFF):
            return self._application(environ, start_response)
        with threads.working:
            return self._application(environ, start_response)


class AdmissionMiddleware:
    """Has requests of the newsroom wait for their turn, and refuses expensive ones while too many are running."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(OF_STAFF):
            with pages:
                return self._answer(request)
        began = time.monotonic()
        _recognise(request)
        client = _client_of(request)
        if refused := newsroom.take(client):
            return _refusal(request, refused)
        try:
            with threads.working, pages.first(request):
                request.deadline.extend(time.monotonic() - began)  # type: ignore[attr-defined]
                return self._answer(request)
        finally:
            newsroom.give_back(client)
            _note_person(request)

    def _answer(self, request: HttpRequest) -> HttpResponseBase:
        with ExitStack() as request.expensive:  # type: ignore[attr-defined]
            return self._get_response(request)

    def process_view(self, request: HttpRequest, *_view: Any) -> HttpResponse | None:
        """Take a slot for a request that needs one; or the response that refuses it."""
        if not is_expensive(request):
            return None
        is_of_staff = request.path_info.startswith(OF_STAFF)
        slots, client = _expensive["staff" if is_of_staff else "readers"], _client_of(request)
        if refused := slots.take(client):
            return _refusal(request, refused)
        held: ExitStack = request.expensive  # type: ignore[attr-defined]
        held.callback(slots.give_back, client)
        if not is_of_staff:
            held.enter_context(pages.without(request))
        return None


def is_expensive(request: HttpRequest) -> bool:
    """Whether a request searches, compares texts, reads another instant, or has images decoded."""
    name = request.resolver_match.view_name if request.resolver_match else ""
    may_search = name == _SEARCH or request.path_info.startswith(("/admin/", "/api/"))
    return (
        (may_search and any(request.GET.get(parameter) for parameter in _SEARCHES))
        or name in _COMPARISONS
        or (bool(request.GET.get(_INSTANT)) and not request.path_info.startswith(OF_STAFF))
        or (name in _IMAGES and request.method in ("POST", "PATCH"))
    )


def _client_of(request: HttpRequest) -> str:
    """The person whose session or token this is, if that is known and the address is of staff; else the address.

    An address may be what a client has written, if fewer proxies passed it on than are counted: it names no person.
    """
    claim = _claim(request) if request.path_info.startswith(OF_STAFF) else None
    return _people.get(claim or "") or f"address {address_of(request)}"


def _claim(request: HttpRequest) -> str | None:
    """The digest of what says who sends this, if anything does: a new session has no cookie yet.

    Of both, as all who pass a proxy that asks for a password may have the same `Authorization`.
    """
    claimed = [request.headers.get("Authorization", ""), request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")]
    return sha256("\n".join(claimed).encode(errors="replace")).hexdigest() if any(claimed) else None


def _recognise(request: HttpRequest) -> None:
    """Read whose session this is, if it is new to this process: all of an office may have one address.

    Django's middleware then reads it no more. A few are read at once, so that a flood of made-up ones, or a database
    that does not answer, leaves threads to readers.
    """
    if settings.SESSION_COOKIE_NAME not in request.COOKIES or _claim(request) in _people:
        return
    if not _recognising.acquire(timeout=LONGEST_LOOK):
        return
    try:
        with threads.working:
            request._cached_user = auth.get_user(request)  # type: ignore[attr-defined]
    finally:
        _recognising.release()
    _note_person(request)


def _note_person(request: HttpRequest) -> None:
    """Remember who has sent this, if that was asked; a query for that would cost every request one."""
    user = getattr(request, "user", None)
    if user is None or isinstance(user, LazyObject):
        user = getattr(request, "_cached_user", None)
    claim = _claim(request)
    if user is None or claim is None:
        return
    if user.pk is None:
        _people.pop(claim, None)  # the session or token has ended: who has it is not that person
        return
    if len(_people) >= _MOST_PEOPLE:
        _people.clear()
    _people[claim] = f"user {user.pk}"


def _refusal(request: HttpRequest, status: HTTPStatus) -> HttpResponse:
    if status is HTTPStatus.TOO_MANY_REQUESTS:
        message = _("Several of your requests are still running. Please try again when they are done.")
    else:
        message = _("Too many requests are running. Please try again in a moment.")
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
