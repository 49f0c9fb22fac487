"""Reading request bodies."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import IO, Any

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class StrictJSONParser(JSONParser):
    """JSON that the rest of the program can carry: finite numbers, whole characters, nesting that Python can follow."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The parsed body. Raises `ParseError`."""
        body = stream.read()
        try:
            data = super().parse(io.BytesIO(body), media_type, parser_context)
            # A half of a character or an infinite number can be written in JSON, but not be stored or sent back.
            json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
        except RecursionError as error:
            raise ParseError(_("The JSON is nested too deeply.")) from error
        except ValueError as error:
            raise ParseError(_("The JSON holds a number or a character that cannot be stored.")) from error
        return data
