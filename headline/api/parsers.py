"""Parsers of request bodies."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping
from itertools import accumulate
from typing import IO, Any

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from scheduling.limits import JSON_DEPTH

_TOO_DEEP = _("The JSON is nested too deeply.")
_TEXT = re.compile(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+(?:"|\Z)', re.DOTALL)
"""A text of JSON; one without an end reaches to the end of the body, so each byte is read once."""

_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKET = bytes(set(range(256)) - _STEPS.keys())


class StrictJSONParser(JSONParser):
    """Strict JSON: finite numbers, no lone surrogates, limited nesting."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """The parsed body. Raises `ParseError`."""
        body = stream.read()
        if depth_of(body) > JSON_DEPTH:
            raise ParseError(_TOO_DEEP)
        try:
            data = super().parse(io.BytesIO(body), media_type, parser_context)
            # Lone surrogates and infinite numbers can be parsed, but neither stored nor returned.
            json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
        except RecursionError as error:  # in another charset than UTF-8
            raise ParseError(_TOO_DEEP) from error
        except ValueError as error:
            raise ParseError(_("The JSON holds a number or a character that cannot be stored.")) from error
        return data


def depth_of(body: bytes) -> int:
    """The levels of lists and objects in JSON, read once from its start to its end; no less if it is malformed."""
    brackets = _TEXT.sub(b"", body).translate(None, _NO_BRACKET)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)
