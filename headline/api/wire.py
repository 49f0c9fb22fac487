"""WSGI middleware of the API: errors as RFC 9457 problems, CORS for the origins that are allowed, and `RateLimit`.

It is outermost, because copies of cached responses are sent before Django. Credentials are never allowed across
origins: programs in browsers send a token in `Authorization`, and a session's cookie counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

    Headers = list[tuple[str, str]]

PROBLEM = "application/problem+json"
ANY = "*"
RATE_LIMIT = "headline.rate_limit"
"""The key in a WSGI environment of the `RateLimit` headers. Only counted requests have them: a copy would be wrong."""

_API = "/api/"
_METHODS = "GET, HEAD, POST, PATCH, DELETE"
_REQUEST_HEADERS = "Authorization, Content-Type, Accept-Language, Idempotency-Key, If-Match, If-None-Match"
_RESPONSE_HEADERS = "ETag, Idempotent-Replayed, RateLimit, RateLimit-Policy, Retry-After, X-Request-ID"
_AGE = "600"  # seconds that a browser remembers the answer to a preflight request


class ApiMiddleware:
    """Passes on what is not below `/api/`."""

    def __init__(self, application: WSGIApplication, origins: Collection[str]) -> None:
        self._application = application
        self._origins = frozenset(origins)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if not environ.get("PATH_INFO", "").startswith(_API):
            return self._application(environ, start_response)
        cors = self._cors(environ.get("HTTP_ORIGIN", ""))
        if environ["REQUEST_METHOD"] == "OPTIONS" and "HTTP_ACCESS_CONTROL_REQUEST_METHOD" in environ:
            start_response("204 No Content", [*cors, *(_preflight() if len(cors) > 1 else ())])
            return []
        if PROBLEM not in environ.get("HTTP_ACCEPT", ""):
            return self._application(environ, _adding(start_response, cors, environ))
        return self._with_problems(environ, _adding(start_response, cors, environ))

    def _cors(self, origin: str) -> Headers:
        """The headers for this origin; without those that allow it if it is not in the list."""
        if not self._origins:
            return []
        if ANY in self._origins:
            return [("Access-Control-Allow-Origin", ANY), ("Access-Control-Expose-Headers", _RESPONSE_HEADERS)]
        if origin not in self._origins:
            return [("Vary", "Origin")]
        allowed = ("Access-Control-Allow-Origin", origin)
        return [("Vary", "Origin"), allowed, ("Access-Control-Expose-Headers", _RESPONSE_HEADERS)]

    def _with_problems(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """The response; an error as a problem."""
        environ["HTTP_ACCEPT"] = environ["HTTP_ACCEPT"].replace(PROBLEM, "application/json")
        sent: list[Any] = []

        def start(status: str, headers: Headers, exc_info: Any = None) -> Any:
            sent[:] = [status, headers, exc_info]
            is_error = int(status[:3]) >= HTTPStatus.BAD_REQUEST
            return (lambda _data: None) if is_error else start_response(status, headers, exc_info)

        body = self._application(environ, start)
        status, headers, exc_info = sent
        if int(status[:3]) < HTTPStatus.BAD_REQUEST:
            return body
        try:
            data = b"".join(body)
        finally:
            getattr(body, "close", lambda: None)()
        if ("Content-Type", "application/json") in headers and data:
            data = json.dumps(problem_of(int(status[:3]), json.loads(data)), ensure_ascii=False).encode()
            kept = [(name, value) for name, value in headers if name not in ("Content-Type", "Content-Length")]
            headers = [*kept, ("Content-Type", PROBLEM), ("Content-Length", str(len(data)))]
        start_response(status, headers, exc_info)
        return [data]


def problem_of(status: int, error: dict[str, Any]) -> dict[str, Any]:
    """An error as RFC 9457 has it: the errors of fields in `errors`, each with a JSON pointer."""
    known: dict[str, Any] = {name: error[name] for name in ("code", "detail") if name in error}
    if status == HTTPStatus.PRECONDITION_FAILED and isinstance(error.get("current"), dict):
        known["current"] = error["current"]
    errors = [
        {"pointer": pointer, "detail": text}
        for name, value in error.items()
        if name not in known
        for pointer, text in _texts(f"/{name.replace('~', '~0').replace('/', '~1')}", value)
    ]
    if errors and "detail" not in known:
        known["detail"] = " ".join(one["detail"] for one in errors)
    found: dict[str, Any] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, **known}
    return {**found, "errors": errors} if errors else found


def _texts(pointer: str, value: Any) -> Iterable[tuple[str, str]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(f"{pointer}/{name}", inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(pointer if isinstance(inner, str) else f"{pointer}/{number}", inner)
    else:
        yield pointer, str(value)


def _preflight() -> Headers:
    return [
        ("Access-Control-Allow-Methods", _METHODS),
        ("Access-Control-Allow-Headers", _REQUEST_HEADERS),
        ("Access-Control-Max-Age", _AGE),
    ]


def _adding(start_response: StartResponse, cors: Headers, environ: WSGIEnvironment) -> StartResponse:
    """`start_response` with these headers and those of the rate limit; `Vary` is joined."""

    def start(status: str, headers: Headers, exc_info: Any = None) -> Any:
        whole = [*headers, *cors, *environ.pop(RATE_LIMIT, ())]
        varies = ", ".join(value for name, value in whole if name == "Vary")
        others = [(name, value) for name, value in whole if name != "Vary"]
        return start_response(status, [*others, *([("Vary", varies)] if varies else [])], exc_info)

    return start
