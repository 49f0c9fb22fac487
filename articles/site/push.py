"""Pushes for readers: the button's requests, and the service worker that shows what comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.module_loading import import_string
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from articles.limits import MOST_PUSH_TOPICS, PUSH_ADDRESS_LENGTH
from articles.push import GivenSubscription, SubscriptionRefused, subscribe, topics_of

_KEY_LENGTH = 100  # characters of a key in base64


@require_safe
def worker(request: HttpRequest) -> HttpResponseBase:
    """The service worker; at the root, because it is for all pages."""
    if not settings.PUSH_KEY:
        raise Http404
    response = render(request, "articles/push-worker.js", content_type="text/javascript; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"  # browsers look for a newer one once a day
    return response


@csrf_exempt  # no cookie is read; other sites cannot send JSON, and know no address of a subscription
@require_POST
def subscription(request: HttpRequest) -> HttpResponseBase:
    """Set the topics of the subscription that the browser names, or say which they are."""
    if not settings.PUSH_KEY:
        raise Http404
    if request.content_type != "application/json":
        return JsonResponse({"code": "not_json"}, status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    count: Callable[[HttpRequest], timedelta] = import_string(settings.COUNT_SUBSCRIPTION)
    if wait := count(request):
        seconds = str(int(wait.total_seconds()) + 1)
        status = HTTPStatus.TOO_MANY_REQUESTS
        return JsonResponse({"code": "too_many"}, status=status, headers={"Retry-After": seconds})
    try:
        given, topics = _read(request.body)
        chosen = topics_of(given) if topics is None else subscribe(given, topics)
    except SubscriptionRefused as refusal:
        return JsonResponse({"code": refusal.code, "detail": str(refusal)}, status=HTTPStatus.BAD_REQUEST)
    return JsonResponse({"topics": chosen})


def _read(body: bytes) -> tuple[GivenSubscription, list[str] | None]:
    """The subscription, and the topics if there are some. Raises `SubscriptionRefused`."""
    try:
        data: Any = json.loads(body)
        keys = data["subscription"]["keys"]
        given = GivenSubscription(
            _line(data["subscription"]["endpoint"], PUSH_ADDRESS_LENGTH),
            _line(keys["p256dh"], _KEY_LENGTH),
            _line(keys["auth"], _KEY_LENGTH),
        )
        topics = data.get("topics")
        if topics is None:
            return given, None
        if not isinstance(topics, list) or len(topics) > MOST_PUSH_TOPICS:
            raise SubscriptionRefused
        return given, [_line(topic, _KEY_LENGTH) for topic in topics]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise SubscriptionRefused from error


def _line(value: Any, most: int) -> str:
    if not isinstance(value, str) or not value.isascii() or not value.isprintable() or len(value) > most:
        raise SubscriptionRefused
    return value
