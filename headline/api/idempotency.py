"""`Idempotency-Key`: a POST that is sent again takes effect once.

Every POST of an authenticated user honours the header. The first request inserts a row for its key in the transaction
of its effect, so a concurrent request with the same key waits for that commit and gets the same response. A refused
request stores nothing, so its key may be used again. The design and the status codes follow the IETF draft
"The Idempotency-Key HTTP Header Field".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError, transaction
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    UnreadablePostError,
)
from django.utils.translation import gettext as _
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from headline.api.models import KEY_LENGTH, IdempotentRequest
from scheduling.database import Trouble, retried, trouble_of

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"

_KEY = re.compile(rf"[!-~]{{1,{KEY_LENGTH}}}")

_DEADLOCK = 1213

View = Callable[..., Any]


class KeyInUseError(Exception):
    """Another request with this key is still running."""


class IdempotencyMiddleware:
    """Runs POSTs with the header through `respond_once`; ignores all other requests."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: View, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        """The response to an idempotent POST, or None to call the view as usual."""
        key = request.headers.get(HEADER)
        if key is None or request.method != "POST" or not hasattr(view, "cls"):
            return None
        try:
            fingerprint = _fingerprint(request)
        except (RequestDataTooBig, UnreadablePostError):
            return None  # the view raises it again, for the API's error response
        user = _authenticated_user(request, view)
        if user is None:
            return None
        if has_secret(view.cls, getattr(view, "actions", {}).get("post", "")):
            return _error(400, "idempotency_key_invalid", _("The response has a secret, which is not stored."))
        if not _KEY.fullmatch(key):
            message = _("Idempotency-Key must be 1 to %(length)d printable ASCII characters.")
            return _error(400, "idempotency_key_invalid", message % {"length": KEY_LENGTH})
        try:
            return respond_once(user, key, fingerprint, lambda: view(request, *args, **kwargs))
        except KeyInUseError:
            message = _("A request with this Idempotency-Key is still running; try again.")
            return _error(409, "idempotency_key_in_use", message)


def has_secret(view: type[Any], action: str) -> bool:
    """Whether the response to this POST has a secret: `is_secret` of a view is of all its actions, or names them."""
    named: bool | Collection[str] = getattr(view, "is_secret", False)
    return named if isinstance(named, bool) else action in named


def respond_once(user: User, key: str, fingerprint: str, view: Callable[[], Response]) -> HttpResponseBase:
    """The view's response, or the stored one for this user, key and request. Raises `KeyInUseError`."""
    record, response = _run_once(user, key, fingerprint, view)
    if response is not None:
        return response
    if record.fingerprint != fingerprint:
        message = _("This Idempotency-Key was used for another request before.")
        return _error(422, "idempotency_key_reused", message)
    headers = {REPLAYED: "true"} | ({"ETag": record.etag} if record.etag else {})
    return HttpResponse(record.body, status=record.status, content_type="application/json", headers=headers)


@retried
def _run_once(
    user: User, key: str, fingerprint: str, view: Callable[[], Response]
) -> tuple[IdempotentRequest, Response | None]:
    """The row and, if it is new, the view's response, in one transaction."""
    record, is_new = _insert(user, key, fingerprint)
    return record, _run(record, view) if is_new else None


def _insert(user: User, key: str, fingerprint: str) -> tuple[IdempotentRequest, bool]:
    """Get or insert the row, waiting for a concurrent request with the same key to commit or roll back."""
    try:
        return IdempotentRequest.objects.get_or_create(user=user, key=key, defaults={"fingerprint": fingerprint})
    except OperationalError as error:
        if error.args[0] == _DEADLOCK or trouble_of(error) is not Trouble.LOCKS:
            raise  # the whole transaction is retried, or the database cannot be used
        raise KeyInUseError from error


def _run(record: IdempotentRequest, view: Callable[[], Response]) -> Response:
    """Call the view in the transaction of `record`; store its response, or roll back if it is an error."""
    response = view()
    response.render()
    if response.status_code >= 400:
        transaction.set_rollback(True)
    else:
        record.status, record.body = response.status_code, response.content.decode()
        record.etag = response.headers.get("ETag", "")
        record.save(update_fields=["status", "body", "etag"])
    return response


def _authenticated_user(request: HttpRequest, view: View) -> User | None:
    """The user that the view will authenticate; None if it will be anonymous or refused.

    So an earlier response is not repeated to a user or token that has lost the permission.
    """
    probe: APIView = view.cls(**view.initkwargs)  # type: ignore[attr-defined]
    parsers = probe.get_parsers()  # a session's CSRF token may be in the body
    before = request.user
    try:
        found = probe.request = Request(request, parsers=parsers, authenticators=probe.get_authenticators())
        if not found.user.is_authenticated:
            return None
        probe.check_permissions(found)
        return found.user
    except APIException:
        return None
    finally:
        request.user = before  # DRF sets it; the view must start with the original user


def _fingerprint(request: HttpRequest) -> str:
    address = f"{request.method} {request.get_full_path()}\n".encode()
    return hashlib.sha256(address + request.body).hexdigest()


def _error(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"detail": message, "code": code}, status=status)
