"""Strict serializers and views: unknown fields and parameters are errors, because a typing error would go unnoticed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.settings import api_settings

from scheduling.limits import MOST_UNKNOWN, UNKNOWN_LENGTH

if TYPE_CHECKING:
    from rest_framework.viewsets import GenericViewSet

    View = GenericViewSet[Any]
else:
    View = object

_FROM_FORMS = {"csrfmiddlewaretoken"}
_RESERVED = {"code", "detail"}  # keys of every error response

Details = dict[str, list[ErrorDetail]]


class Strict(serializers.Serializer[Any]):
    """Accepts declared fields only. Read-only fields may be sent and are ignored."""

    def to_internal_value(self, data: Any) -> Any:
        """The values. Raises `ValidationError` with unknown fields and all other errors."""
        found = unknown_fields(data, self.fields.values()) if isinstance(data, Mapping) else {}
        try:
            values = super().to_internal_value(data)
        except ValidationError as error:
            raise ValidationError({**found, **error.detail}) from error  # type: ignore[dict-item]
        if found:
            raise ValidationError(found)
        return values


class EmptyBody(Strict):
    """An empty body."""


class StrictView(View):
    """Accepts declared query parameters only.

    A list accepts those of its `filter_class` and of its pagination, other actions those in `parameters`.
    """

    filter_class: type[serializers.BaseSerializer[Any]] | None = None
    parameters: Collection[str] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Check the parameters after authentication. Raises `ValidationError`."""
        super().initial(request, *args, **kwargs)
        refuse_unknown_parameters(request.query_params, self.known_parameters())

    def known_parameters(self) -> list[str]:
        """The names of the accepted query parameters."""
        if self.action != "list":
            return sorted(self.parameters)
        filters = self.filter_class().fields if self.filter_class else ()  # type: ignore[attr-defined]
        return sorted({*filters, *self.parameters, *page_parameters(self)})

    def asked(self) -> dict[str, Any]:
        """The values of a list's filters; an empty one is wrong, not absent. Raises `ValidationError`."""
        if self.filter_class is None:
            return {}
        form, query = self.filter_class(), self.request.query_params
        several = {name for name, field in form.fields.items() if isinstance(field, serializers.MultipleChoiceField)}  # type: ignore[attr-defined]
        own = [name for name in query if name in form.fields]  # type: ignore[attr-defined]
        given = {name: query.getlist(name) if name in several else query[name] for name in own}
        form = self.filter_class(data=given)
        form.is_valid(raise_exception=True)
        return dict(form.validated_data)

    def checked(self, body: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The values in the request's body. Raises `ValidationError`."""
        form = body(data=self.request.data)
        form.is_valid(raise_exception=True)
        return dict(form.validated_data)


def page_parameters(view: View) -> list[str]:
    """The names of the pagination parameters."""
    pages: Any = view.paginator
    return [parameter["name"] for parameter in pages.get_schema_operation_parameters(view)] if pages else []


def unknown_fields(data: Mapping[str, Any], fields: Iterable[serializers.Field[Any, Any, Any, Any]]) -> Details:
    """An error for each of the first ten keys that are none of `fields`, with the names of the writable ones."""
    known = {str(field.field_name): field for field in fields}
    passed = known.keys() | (_FROM_FORMS if isinstance(data, QueryDict) else set())
    writable = [name for name, field in known.items() if not field.read_only]
    return _errors(data.keys() - passed, writable, "unknown_field", _("There is no field “%(name)s”. %(known)s"))


def refuse_unknown_parameters(given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise `ValidationError` for the first ten parameters that are not `known`."""
    message = _("There is no parameter “%(name)s” here. %(known)s")
    if found := _errors(given.keys() - set(known), known, "unknown_parameter", message):
        raise ValidationError(found)


def _errors(unknown: Collection[str], known: Collection[str], code: str, message: str) -> Details:
    known_names = (
        _("Known are: %(names)s.") % {"names": ", ".join(sorted(known))} if known else _("None is taken here.")
    )
    return {
        api_settings.NON_FIELD_ERRORS_KEY if name in _RESERVED else name: [
            ErrorDetail(message % {"name": name[:UNKNOWN_LENGTH], "known": known_names}, code)
        ]
        for name in nsmallest(MOST_UNKNOWN, unknown)
    }
