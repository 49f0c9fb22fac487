"""`Idempotency-Key`: a POST that is sent again takes effect once.

Every POST of a signed-in user honours the header. The first request claims the key with a row in the transaction of
its own effect, so a rival with the same key waits for that commit and is then given the same answer. A refused
request leaves nothing behind, hence the same key may be sent again. The idea and the status codes follow the IETF
draft "The Idempotency-Key HTTP Header Field".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
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
from scheduling.services import retried

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"

_KEY = re.compile(rf"[!-~]{{1,{KEY_LENGTH}}}")

_DEADLOCK = 1213

View = Callable[..., Any]


class KeyInUseError(Exception):
    """Another request with this key is still running."""


class IdempotencyMiddleware:
    """Runs POSTs that carry the header through `answer_once`; leaves everything else alone."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view: View, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponseBase | None:
        """The answer to an idempotent POST, or None: the view is called as usual."""
        key = request.headers.get(HEADER)
        if key is None or request.method != "POST" or not hasattr(view, "cls"):
            return None
        try:
            fingerprint = _fingerprint(request)
        except (RequestDataTooBig, UnreadablePostError):
            return None  # the view meets it again, and says so in the API's own way
        user = _signed_in_user(request, view)
        if user is None:
            return None
        if not _KEY.fullmatch(key):
            message = _("Idempotency-Key must be 1 to %(length)d printable ASCII characters.")
            return _refusal(400, "idempotency_key_invalid", message % {"length": KEY_LENGTH})
        try:
            return answer_once(user, key, fingerprint, lambda: view(request, *args, **kwargs))
        except KeyInUseError:
            message = _("A request with this Idempotency-Key is still running; try again.")
            return _refusal(409, "idempotency_key_in_use", message)


def answer_once(user: User, key: str, fingerprint: str, view: Callable[[], Response]) -> HttpResponseBase:
    """The view's answer, or the one it gave before to this user, key and request. Raises `KeyInUseError`."""
    record, answer = _run_once(user, key, fingerprint, view)
    if answer is not None:
        return answer
    if record.fingerprint != fingerprint:
        message = _("This Idempotency-Key was used for another request before.")
        return _refusal(422, "idempotency_key_reused", message)
    return HttpResponse(record.body, status=record.status, content_type="application/json", headers={REPLAYED: "true"})


@retried
def _run_once(
    user: User, key: str, fingerprint: str, view: Callable[[], Response]
) -> tuple[IdempotentRequest, Response | None]:
    """The row and, if that is new, the view's answer, in one transaction."""
    record, is_new = _soft_lock(user, key, fingerprint)
    return record, _run(record, view) if is_new else None


def _soft_lock(user: User, key: str, fingerprint: str) -> tuple[IdempotentRequest, bool]:
    """Insert the row, waiting for a rival that holds the same key to commit or roll back."""
    try:
        return IdempotentRequest.objects.get_or_create(user=user, key=key, defaults={"fingerprint": fingerprint})
    except OperationalError as error:
        if error.args[0] == _DEADLOCK:
            raise  # the whole of it is run again
        raise KeyInUseError from error


def _run(record: IdempotentRequest, view: Callable[[], Response]) -> Response:
    """Call the view within the transaction of `record`; keep its answer, or forget everything if it refused."""
    response = view()
    response.render()
    if response.status_code >= 400:
        transaction.set_rollback(True)
    else:
        record.status, record.body = response.status_code, response.content.decode()
        record.save(update_fields=["status", "body"])
    return response


def _signed_in_user(request: HttpRequest, view: View) -> User | None:
    """Whom the view will take the request to come from; None when it will refuse or treat it as anybody's.

    So nobody is told an earlier answer who may not ask any more, or whose token may not.
    """
    asked: APIView = view.cls(**view.initkwargs)  # type: ignore[attr-defined]
    parsers = asked.get_parsers()  # a session's proof against forgery may stand in the body
    before = request.user
    try:
        found = asked.request = Request(request, parsers=parsers, authenticators=asked.get_authenticators())
        if not found.user.is_authenticated:
            return None
        asked.check_permissions(found)
        return found.user
    except APIException:
        return None
    finally:
        request.user = before  # DRF writes its finding there; the view shall start from where we did


def _fingerprint(request: HttpRequest) -> str:
    address = f"{request.method} {request.get_full_path()}\n".encode()
    return hashlib.sha256(address + request.body).hexdigest()


def _refusal(status: int, code: str, message: str) -> JsonResponse:
    return JsonResponse({"detail": message, "code": code}, status=status)
