"""Parsers of request bodies."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import IO, Any

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class StrictJSONParser(JSONParser):
    """Strict JSON: finite numbers, no lone surrogates, limited nesting."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The parsed body. Raises `ParseError`."""
        body = stream.read()
        try:
            data = super().parse(io.BytesIO(body), media_type, parser_context)
            # Lone surrogates and infinite numbers can be parsed, but neither stored nor returned.
            json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
        except RecursionError as error:
            raise ParseError(_("The JSON is nested too deeply.")) from error
        except ValueError as error:
            raise ParseError(_("The JSON holds a number or a character that cannot be stored.")) from error
        return data
