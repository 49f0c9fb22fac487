"""The OpenAPI document over HTTP."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.views import SpectacularAPIView
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.settings import api_settings

from scheduling.api.strict import refuse_unknown_parameters

_KNOWN = ("lang", api_settings.URL_FORMAT_OVERRIDE)


class SchemaView(SpectacularAPIView):
    """The OpenAPI document, in the language of the request or in `lang`, if the site has that.

    Django and drf-spectacular keep something for each language that is asked for, and any visitor may ask.
    """

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Raise `ValidationError` for other parameters: the API has no versions of its document."""
        super().initial(request, *args, **kwargs)
        refuse_unknown_parameters(request.query_params, _KNOWN)
        if "lang" in request.query_params:
            try:
                serializers.ChoiceField(settings.LANGUAGES).run_validation(request.query_params["lang"])
            except ValidationError as error:
                raise ValidationError({"lang": error.detail}) from error
