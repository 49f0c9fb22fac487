"""OpenAPI schema: the errors and headers that all operations share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from django.conf import settings
from django.db.models import Choices, IntegerChoices
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy as _
from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import build_choice_description_list, deep_import_string
from drf_spectacular.settings import spectacular_settings
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from articles.api.errors import ErrorSerializer
from articles.limits import FIELDS_LENGTH
from headline.api.idempotency import HEADER, has_secret
from headline.api.models import KEY_LENGTH


class VersionErrorSerializer(ErrorSerializer):
    """Another version is present than the one that should be changed."""

    current = serializers.DictField(help_text=_("The resource as it is now; its version is in the header `ETag`."))


_PICKED = ("list", "retrieve")  # actions that take `fields`
_JSON, _PROBLEM = "application/json", "application/problem+json"
_TEXT = {"schema": {"type": "string"}}
_EMPTY_TEXT = {"type": "string", "maxLength": 0}
_SECONDS = {"schema": {"type": "integer"}}
_LIMITS = {
    "RateLimit-Policy": _TEXT | {"description": _("The quota `q` in `w` seconds, by client address.")},
    "RateLimit": _TEXT | {"description": _("What is left of it: `r` requests until it is renewed, in `t` seconds.")},
}
_PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": _("An error as RFC 9457 has it, for requests with `Accept: application/problem+json`."),
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string", "format": "uri-reference"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"},
        "code": {"type": "string", "description": _("For programs: stays the same in every language.")},
        "errors": {
            "type": "array",
            "description": _("The errors of single fields."),
            "items": {
                "type": "object",
                "required": ["pointer", "detail"],
                "properties": {
                    "pointer": {"type": "string", "description": _("JSON pointer to the field.")},
                    "detail": {"type": "string"},
                },
            },
        },
        "current": {
            "type": "object",
            "additionalProperties": {},
            "description": _("With 412: the resource as it is now."),
        },
    },
}
NOT_MODIFIED = _("`If-None-Match` or, of readers, `If-Modified-Since` names the present version; there is no body.")

DESCRIPTIONS = {
    "400": _("The request cannot be understood, or a value in it is invalid."),
    "401": _("The request is not authenticated."),
    "403": _("The signed-in user may not do this."),
    "404": _("Not found, or not visible to you."),
    "406": _("The request accepts no JSON."),
    "409": _("The present state does not allow this, or a request with the same Idempotency-Key is running."),
    "411": _("The length of the body is missing."),
    "412": _("`If-Match` names another version than the present one."),
    "413": _("The body is too large."),
    "415": _("The body is not of the documented kind."),
    "422": _("The Idempotency-Key was used for another request before."),
    "429": _("Too many requests; `Retry-After` says when to come back."),
    "503": _("The database cannot be used at the moment; `Retry-After` says when to come back."),
}


def name_numbers(result: dict[str, Any], **_context: Any) -> dict[str, Any]:
    """Name the numbers of enumerations, and reference the enumerations in parameters: for generated clients."""
    schemas, shared = result["components"]["schemas"], {}
    _name_equal_labels(schemas)
    for name, path in spectacular_settings.ENUM_NAME_OVERRIDES.items():
        kind = deep_import_string(path)
        if name in schemas and issubclass(kind, IntegerChoices):
            schemas[name]["x-enum-varnames"] = kind.names
            shared[tuple(kind.values)] = {"$ref": f"#/components/schemas/{name}"}
    for schema in _parameter_schemas(result):
        if (reference := shared.get(tuple(schema.get("enum", ())))) is not None:
            default = {key: schema[key] for key in ("default",) if key in schema}
            schema.clear()
            schema |= reference | default
    # Besides its code, an error has a key for each field with its messages, nested like the data.
    schemas["Error"]["additionalProperties"] = {"anyOf": [{"type": "array", "items": {}}, {"type": "object"}]}
    _drop_letters(result)
    _add_shared(result)
    _add_problems(result)
    return result


def _drop_letters(node: Any) -> None:
    """Remove the patterns with `\\w`, which means the letters of all languages here, but those of ASCII in OpenAPI."""
    if isinstance(node, dict):
        if "\\w" in str(node.get("pattern", "")):
            del node["pattern"]
        for part in node.values():
            _drop_letters(part)
        if _EMPTY_TEXT in node.get("oneOf", ()):  # which is such a text now
            node |= next(one for one in node.pop("oneOf") if one != _EMPTY_TEXT)
    elif isinstance(node, list):
        for part in node:
            _drop_letters(part)


def _add_problems(result: dict[str, Any]) -> None:
    """Add to every error the form of RFC 9457, in which `headline.api.wire` sends it to those who ask for it."""
    result["components"]["schemas"]["ProblemDetails"] = _in_language(_PROBLEM_SCHEMA)
    shared = list(result["components"]["responses"].items())
    owned = [
        pair
        for item in result["paths"].values()
        for operation in item.values()
        for pair in operation["responses"].items()
        if pair[0] >= "400"
    ]
    for _status, response in [*shared, *owned]:
        if "content" in response:
            response["content"] = response["content"] | {
                _PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}
            }


def _in_language(node: Any) -> Any:
    """A copy in which translatable texts are in the language of this document."""
    if isinstance(node, dict):
        return {key: _in_language(value) for key, value in node.items()}
    return str(node) if isinstance(node, Promise) else node


def _add_shared(result: dict[str, Any]) -> None:
    """Document what every operation may answer: `headline.unavailable`, and that a client accepts no JSON."""
    shared = {"406": "NotAcceptable", "503": "Unavailable"}
    content = {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
    result["components"]["responses"] = {
        name: {"description": str(DESCRIPTIONS[status]), "content": content} for status, name in shared.items()
    }
    result["components"]["responses"]["Unavailable"]["headers"] = {"Retry-After": _SECONDS}
    for item in result["paths"].values():
        for operation in item.values():
            for status, name in shared.items():
                operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}


def _name_equal_labels(schemas: dict[str, Any]) -> None:
    """Add the names of the values that share a label, such as two ways of approval, to the descriptions."""
    all_described = list(_described(schemas))
    for path in spectacular_settings.ENUM_NAME_OVERRIDES.values():
        kind = deep_import_string(path)
        plain, named = (build_choice_description_list(choices) for choices in (kind.choices, _distinct_choices(kind)))
        for described in all_described:
            described["description"] = described["description"].replace(plain, named)


def _distinct_choices(kind: type[Choices]) -> list[tuple[Any, str]]:
    labels = Counter(map(str, kind.labels))
    return [(one.value, f"{one.label} ({one.name})" if labels[str(one.label)] > 1 else str(one.label)) for one in kind]


def _described(node: Any) -> Iterator[dict[str, Any]]:
    """The parts of the schema that have a description."""
    if isinstance(node, dict) and isinstance(node.get("description"), str):
        yield node
    for part in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _described(part)


def _parameter_schemas(result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for item in result["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", ()):
                yield parameter["schema"]
                yield parameter["schema"].get("items", {})


class _Sized(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """Adds the limits that DRF's own fields do not have to what is sent."""

    target_class = "scheduling.api.bounded_fields.Bounded"
    match_subclasses = True

    def map_serializer_field(self, auto_schema: Any, direction: str) -> dict[str, Any]:
        """The schema of the field with its limit."""
        schema: dict[str, Any] = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        if self.target.allow_null and isinstance(schema.get("type"), list):
            schema["type"] = schema["type"][0]  # the caller adds "null" once more
        return schema | self.target.limit if direction == "request" and not self.target.read_only else schema


class Generator(SchemaGenerator):
    """Generates the document of each language once in a process, as that takes half a second."""

    _generated: ClassVar[dict[str, dict[str, Any]]] = {}

    def get_schema(self, request: Any = None, public: bool = False) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """That of requests is shared, so it must not be changed; a command, which shows warnings, gets a new one."""
        language = get_language()
        if request is None or self.api_version or language not in dict(settings.LANGUAGES):  # the query may name any
            return self._generate(request, public)
        if language not in self._generated:
            self._generated[language] = self._generate(request, public)
        return self._generated[language]

    def _generate(self, request: Any, is_public: bool) -> dict[str, Any]:  # noqa: FBT001
        document: dict[str, Any] = super().get_schema(request, is_public)  # type: ignore[no-untyped-call]
        return document


class Schema(AutoSchema):
    """drf-spectacular's schema of an operation, with the project's common errors and headers."""

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The operation with its error responses; those that a view documents itself stay as they are."""
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is not None:
            responses = operation["responses"]
            if self._is_conditional():
                responses["304"] = {"description": str(NOT_MODIFIED), "headers": {"ETag": _TEXT}}
                responses["200"]["headers"] = {"ETag": _TEXT}
            for status in self._error_statuses(operation):
                kind = VersionErrorSerializer if status == "412" else ErrorSerializer
                error = {_JSON: {"schema": self.resolve_serializer(kind, "response").ref}}
                responses.setdefault(status, {"description": str(DESCRIPTIONS[status]), "content": error})
            self._add_headers(responses)
        return operation

    def _add_headers(self, responses: dict[str, Any]) -> None:
        """Those of the rate limit, which counts anonymous requests, and of a present version."""
        limits = {} if self.view.get_authenticators() else _in_language(_LIMITS)
        more = {"200": limits, "412": {"ETag": _TEXT}, "429": limits | {"Retry-After": _SECONDS}}
        for status, headers in more.items():
            if headers and status in responses:
                responses[status]["headers"] = responses[status].get("headers", {}) | headers

    def _is_conditional(self) -> bool:
        sends_etags = getattr(self.view, "sends_etags", False) or not self.view.get_authenticators()
        return bool(self.method == "GET" and sends_etags)

    def get_override_parameters(self) -> list[Any]:
        """The headers `Idempotency-Key`, `If-Match` and `If-None-Match`, and the parameter `fields`."""
        headers = []
        is_secret = has_secret(type(self.view), getattr(self.view, "action", ""))
        if self.method == "POST" and self.view.get_authenticators() and not is_secret:
            description = (
                "Any text chosen by the sender, at most 255 characters. Sent again with the same request within 24 "
                "hours, it returns the first response and has no further effect."
            )
            schema = {"type": "string", "maxLength": KEY_LENGTH}
            headers.append(OpenApiParameter(HEADER, schema, OpenApiParameter.HEADER, description=description))
        if (
            self.method == "GET"
            and getattr(self.view, "takes_fields", False)
            and getattr(self.view, "action", "") in _PICKED
        ):
            text = "Names of the fields to show, separated by commas; the others are left out."
            headers.append(
                OpenApiParameter(
                    "fields", {"type": "string", "maxLength": FIELDS_LENGTH}, OpenApiParameter.QUERY, description=text
                )
            )
        if self._changes_a_version():
            text = "The `ETag` of the version to change; if it is outdated, nothing is changed."
            headers.append(OpenApiParameter("If-Match", str, OpenApiParameter.HEADER, description=text))
        if self._is_conditional():
            text = "The `ETag` of an earlier response; if it is still right, the answer is 304."
            headers.append(OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description=text))
        return headers

    def _changes_a_version(self) -> bool:
        has_version = getattr(self.view, "detail", False) or getattr(self.view, "is_single", False)
        return bool(getattr(self.view, "is_versioned", False) and has_version and self.method != "GET")

    def _error_statuses(self, operation: dict[str, Any]) -> Iterator[str]:
        is_private, parameters = bool(self.view.get_authenticators()), operation.get("parameters", [])
        locations = {parameter["in"] for parameter in parameters}
        yield "400"
        if is_private:
            yield from ("401", "403")
        if "path" in locations or "cursor" in {parameter["name"] for parameter in parameters}:
            yield "404"
        if "requestBody" in operation or self.method != "GET":  # one that is not asked for is limited, too
            yield from ("411", "413", "415")
        if is_private and self.method != "GET":
            yield "409"
        if self._changes_a_version():
            yield "412"
        if is_private and self.method == "POST":
            yield "422"
        if self.view.get_throttles():
            yield "429"
