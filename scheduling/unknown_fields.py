"""Refusing what nobody knows: a field or a parameter with a typing error in its name would silently do nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.settings import api_settings

if TYPE_CHECKING:
    from rest_framework.viewsets import GenericViewSet

    View = GenericViewSet[Any]
else:
    View = object

_SHOWN = 80  # characters of a name that nobody knows
_FROM_FORMS = {"csrfmiddlewaretoken"}
_RESERVED = {"code", "detail"}  # keys of every refusal

Details = dict[str, list[ErrorDetail]]


class Strict(serializers.Serializer[Any]):
    """Takes the fields it declares and no others. What is only read may be sent back, and is left as it is."""

    def to_internal_value(self, data: Any) -> Any:
        """The values. Raises `ValidationError`, naming unknown fields beside everything else that is wrong."""
        found = unknown_fields(data, self.fields.values()) if isinstance(data, Mapping) else {}
        try:
            values = super().to_internal_value(data)
        except ValidationError as error:
            raise ValidationError({**found, **error.detail}) from error  # type: ignore[dict-item]
        if found:
            raise ValidationError(found)
        return values


class Nothing(Strict):
    """The body of what takes none."""


class StrictView(View):
    """Takes the parameters in its address that it declares and no others.

    A list takes those of its `filter_class` and of its pages, another action the `parameters` it is declared with.
    """

    filter_class: type[serializers.BaseSerializer[Any]] | None = None
    parameters: Collection[str] = ()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """After it is known who asks. Raises `ValidationError`."""
        super().initial(request, *args, **kwargs)
        refuse_unknown_parameters(request.query_params, self.known_parameters())

    def known_parameters(self) -> list[str]:
        """The names of what the address may ask for."""
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
        given = {name: query.getlist(name) if name in several else query[name] for name in query}
        form = self.filter_class(data=given)
        form.is_valid(raise_exception=True)
        return dict(form.validated_data)

    def checked(self, body: type[serializers.Serializer[Any]]) -> dict[str, Any]:
        """The values in the request's body. Raises `ValidationError`."""
        form = body(data=self.request.data)
        form.is_valid(raise_exception=True)
        return dict(form.validated_data)


def page_parameters(view: View) -> list[str]:
    """The parameters that lead from page to page."""
    pages: Any = view.paginator
    return [parameter["name"] for parameter in pages.get_schema_operation_parameters(view)] if pages else []


def unknown_fields(data: Mapping[str, Any], fields: Iterable[serializers.Field[Any, Any, Any, Any]]) -> Details:
    """A refusal for each key that is none of `fields`; those that can be written are named."""
    known = {str(field.field_name): field for field in fields}
    passed = known.keys() | (_FROM_FORMS if isinstance(data, QueryDict) else set())
    writable = [name for name, field in known.items() if not field.read_only]
    return _refusals(data.keys() - passed, writable, "unknown_field", _("There is no field “%(name)s”. %(known)s"))


def refuse_unknown_parameters(given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise `ValidationError` for each parameter that is not `known`."""
    sentence = _("There is no parameter “%(name)s” here. %(known)s")
    if found := _refusals(given.keys() - set(known), known, "unknown_parameter", sentence):
        raise ValidationError(found)


def _refusals(unknown: Collection[str], known: Collection[str], code: str, sentence: str) -> Details:
    told = _("Known are: %(names)s.") % {"names": ", ".join(sorted(known))} if known else _("None is taken here.")
    return {
        api_settings.NON_FIELD_ERRORS_KEY if name in _RESERVED else name: [
            ErrorDetail(sentence % {"name": name[:_SHOWN], "known": told}, code)
        ]
        for name in sorted(unknown)
    }
