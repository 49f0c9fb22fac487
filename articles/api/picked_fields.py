"""The parameter `fields`, which picks what a row shows."""

from __future__ import annotations

from typing import Any, cast

from django.utils.translation import gettext as _
from rest_framework import status
from rest_framework.exceptions import ValidationError
from rest_framework.fields import CharField
from rest_framework.request import Request
from rest_framework.response import Response

from articles.limits import FIELDS_LENGTH
from scheduling.api.strict import StrictView

FIELDS, PICKED = "fields", ("list", "retrieve")
"""The parameter that picks fields, and the actions that take it."""


class PickedFields(StrictView):
    """Leaves out the fields that are not asked for; unknown names are errors."""

    takes_fields = True

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise `ValidationError` for names in `fields` that are none of a row's."""
        super().initial(request, *args, **kwargs)
        if self._picks:
            self._refuse_unknown_names()

    def known_parameters(self) -> list[str]:
        """With `fields`, where rows are read."""
        known = super().known_parameters()
        return sorted({*known, FIELDS}) if self.action in PICKED else known

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Leave out the fields that are not asked for; the `ETag` is still that of the whole row."""
        if self._picks and response.status_code == status.HTTP_200_OK:
            is_page = self.action == "list" and "results" in response.data
            for row in response.data["results"] if is_page else [response.data]:
                for name in row.keys() - set(request.query_params[FIELDS].split(",")):
                    del row[name]
        return super().finalize_response(request, response, *args, **kwargs)

    @property
    def _picks(self) -> bool:
        return getattr(self, "action", None) in PICKED and FIELDS in self.request.query_params

    def _refuse_unknown_names(self) -> None:
        if len(self.request.query_params[FIELDS]) > FIELDS_LENGTH:
            text = CharField.default_error_messages["max_length"]
            raise ValidationError({FIELDS: [text.format(max_length=FIELDS_LENGTH)]}, code="max_length")
        known = [str(name) for name in cast(Any, self.get_serializer_class())().fields]
        for name in self.request.query_params[FIELDS].split(","):
            if name not in known:
                text = _("There is no field “%(name)s”. Known are: %(names)s.")
                names = {"name": name[:80], "names": ", ".join(known)}
                raise ValidationError({FIELDS: [text % names]}, code="unknown_field")
