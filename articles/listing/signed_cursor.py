"""Signed cursors: where the next page of a list, of search results or of the change feed starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.signing import BadSignature, Signer

from articles.limits import CURSOR_LENGTH


class InvalidCursor(ValueError):
    """The text is no cursor of this order that we have signed."""


def encode_cursor(order: str, values: Sequence[Any]) -> str:
    """A cursor in a list with this order, at these values (as JSON has them); for URLs."""
    return _signer().sign_object([order, *values])


def decode_cursor(order: str, text: str) -> list[Any]:
    """The values of a cursor in a list with this order. Raises `InvalidCursor`."""
    if len(text) > CURSOR_LENGTH:
        raise InvalidCursor
    try:
        signed: list[Any] = _signer().unsign_object(text)
    except (BadSignature, UnicodeError) as error:
        raise InvalidCursor from error
    if signed[0] != order:
        raise InvalidCursor
    return signed[1:]


def _signer() -> Signer:
    return Signer(salt="cursor", sep="~")
