"""What webhooks send, as JSON Schema: the `webhooks` section of the OpenAPI document."""

from __future__ import annotations

from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiWebhook

from articles.models import Event

_INSTANT = {"type": "string", "format": "date-time"}
_INSTANT_OR_NULL = {"type": ["string", "null"], "format": "date-time"}
_TEXT_OR_NULL = {"type": ["string", "null"]}

_ARTICLE = {
    "type": "object",
    "description": _("With headline and summary, while readers see it."),
    "required": ["title", "summary", "byline", "channel", "tags", "language", "api"],
    "properties": {
        "title": {"type": "string"},
        "summary": {"type": "string"},
        "byline": {"type": "string"},
        "channel": _TEXT_OR_NULL,
        "tags": {"type": "array", "items": {"type": "string"}},
        "language": {"type": "string"},
        "api": {"type": "string", "format": "uri"},
    },
}

MESSAGE: dict[str, Any] = {
    "type": "object",
    "required": ["type", "timestamp", "data"],
    "properties": {
        "type": {"type": "string", "enum": [*Event.Kind.values, "webhook.test"]},
        "timestamp": _INSTANT,
        "data": {
            "type": "object",
            "required": ["attempt", "late_ms"],
            "properties": {
                "object": {"type": "integer", "description": _("The id of the article, release or front.")},
                "revision": {"type": ["integer", "null"]},
                "planned_at": _INSTANT_OR_NULL,
                "happened_at": _INSTANT_OR_NULL,
                "late_ms": {"type": "integer", "description": _("From the event to this attempt.")},
                "attempt": {"type": "integer", "minimum": 1},
                "release": {"type": "integer", "description": _("With which it happened.")},
                "state": {"type": "string", "enum": Event.State.values},
                "url": _TEXT_OR_NULL,
                "front": {"type": "string", "description": _("The slug of a front.")},
                "published_at": _INSTANT_OR_NULL,
                "instead_of": {"type": "string", "description": _("What happened, and is not true any more.")},
                "article": _ARTICLE,
            },
        },
    },
}
"""The body of a message."""

EXAMPLE: dict[str, Any] = {
    "type": "article.published",
    "timestamp": "2030-01-31T06:00:00.000000Z",
    "data": {
        "object": 42,
        "revision": 3,
        "planned_at": "2030-01-31T06:00:00Z",
        "happened_at": "2030-01-31T06:00:00Z",
        "late_ms": 120,
        "attempt": 1,
        "state": "live",
        "url": "https://news.example/article/42/bridge-reopens/",
        "published_at": "2030-01-31T06:00:00Z",
    },
}


def _header(name: str, description: Promise) -> dict[str, Any]:
    return {"in": "header", "name": name, "required": True, "schema": {"type": "string"}, "description": description}


WEBHOOK = OpenApiWebhook(
    name="event",
    decorator={
        "post": {
            "operationId": "event",
            "summary": _("An event"),
            "description": _("Signed as in Standard Webhooks, and sent at least once."),
            "parameters": [
                _header("webhook-id", _("The same in each attempt.")),
                _header("webhook-timestamp", _("Of this attempt, in seconds since 1970.")),
                _header("webhook-signature", _("`v1,` and a signature; during a rotation two, separated by a space.")),
            ],
            "requestBody": {
                "required": True,
                "content": {"application/json": {"schema": MESSAGE, "examples": {"published": {"value": EXAMPLE}}}},
            },
            "responses": {
                "2XX": {"description": _("The receiver has it.")},
                "410": {"description": _("The receiver is gone: the webhook is paused.")},
                "429": {"description": _("Sent again after `Retry-After`, as are all other events.")},
            },
        }
    },
)
