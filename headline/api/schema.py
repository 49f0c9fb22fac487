"""What every operation has in common in the OpenAPI document: its errors and the `Idempotency-Key` header."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.utils.translation import gettext_lazy as _
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from headline.api.idempotency import HEADER
from headline.api.models import KEY_LENGTH


class ErrorSerializer(serializers.Serializer[Any]):
    """Why a request was refused. An invalid field is named by a key of its own, with a list of messages."""

    code = serializers.CharField(help_text=_("For programs: stays the same in every language."))
    detail = serializers.CharField(required=False, help_text=_("For people, unless single fields are to blame."))


DESCRIPTIONS = {
    "400": _("The request cannot be understood, or a value in it is invalid."),
    "401": _("Nobody is signed in."),
    "403": _("The signed-in user may not do this."),
    "404": _("There is no such thing, or not for you."),
    "409": _("The present state does not allow this, or a request with the same Idempotency-Key is running."),
    "410": _("It was shown to readers, and is gone for good; the detail says why."),
    "412": _("`If-Match` names another version than the present one."),
    "413": _("The body is too large."),
    "415": _("The body is not of the documented kind."),
    "422": _("The Idempotency-Key was used for another request before."),
    "429": _("Too many requests; `Retry-After` says when to come back."),
}


class Schema(AutoSchema):
    """drf-spectacular's description of an operation, completed with what the project does to all of them."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The operation with its error responses; those that a view documents itself stay as they are."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            error = {"application/json": {"schema": self.resolve_serializer(ErrorSerializer, "response").ref}}
            for status in self._refusals(operation):
                operation["responses"].setdefault(status, {"description": str(DESCRIPTIONS[status]), "content": error})
        return operation

    def get_override_parameters(self) -> list[Any]:
        """The headers that say for which version, and that once is enough."""
        headers = []
        if self.method == "POST" and self.view.get_authenticators():
            description = (
                "Any text chosen by the sender, at most 255 characters. Sent again with the same request within 24 "
                "hours, it brings back the first answer and has no further effect."
            )
            schema = {"type": "string", "maxLength": KEY_LENGTH}
            headers.append(OpenApiParameter(HEADER, schema, OpenApiParameter.HEADER, description=description))
        if self._changes_a_version():
            text = "The `ETag` of the version that is meant; if there is another by now, nothing is changed."
            headers.append(OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, description=text))
        return headers

    def _changes_a_version(self) -> bool:
        is_versioned = getattr(self.view, "is_versioned", False) and getattr(self.view, "detail", False)
        return bool(is_versioned and self.method != "GET")

    def _refusals(self, operation: dict[str, Any]) -> Iterator[str]:
        is_private, parameters = bool(self.view.get_authenticators()), operation.get("parameters", [])
        places = {parameter["in"] for parameter in parameters}
        if places & {"query", "header"} or "requestBody" in operation:
            yield "400"
        if is_private:
            yield from ("401", "403")
        if "path" in places or "cursor" in {parameter["name"] for parameter in parameters}:
            yield "404"
        if "requestBody" in operation:
            yield from ("413", "415")
        if is_private and self.method != "GET":
            yield "409"
        if self._changes_a_version():
            yield "412"
        if is_private and self.method == "POST":
            yield "422"
        if self.view.get_throttles():
            yield "429"
