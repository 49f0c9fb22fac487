"""Parse and validate single fields of a record. The functions raise `Refused` with a message that says what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime

from django.utils.text import slugify
from django.utils.translation import gettext as _

from articles.exchange.records import Refused
from articles.text import one_line
from scheduling.services import EARLIEST, LATEST, rounded_up

Fields = Mapping[str, object]

_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_SLUG = re.compile(r"[-\w]+")
_SEPARATORS = re.compile(r"[,;|，；、]")


def tidy(value: str) -> str:
    """`value` without control characters and surrounding spaces."""
    return _CONTROLS.sub("", value).strip()


def text(fields: Fields, name: str, longest: int) -> str:
    """A text of at most `longest` characters without control characters; "" if it is missing."""
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, bool | float) or not isinstance(value, str | int):
        raise Refused(name, _("is not a text"))
    value = tidy(str(value))
    if len(value) > longest:
        raise Refused(
            name,
            _("has %(found)d characters; shorten it to %(limit)d")
            % {
                "found": len(value),
                "limit": longest,
            },
        )
    if _SURROGATES.search(value):
        raise Refused(name, _("contains half a character (a lone surrogate); write the whole character"))
    return value


def line(fields: Fields, name: str, longest: int) -> str:
    """A text on one line; "" if nothing of it can be seen."""
    return one_line(text(fields, name, longest))


def slug(fields: Fields, longest: int, *, title: str) -> str:
    """A valid slug from the field or from `title`."""
    return valid_slug(fields, "slug", longest) or slugify(title, allow_unicode=True)[:longest].strip("-_")


def valid_slug(fields: Fields, name: str, longest: int) -> str:
    """A valid slug from the field; "" if it is missing."""
    given = text(fields, name, longest)
    return given if _SLUG.fullmatch(given) else slugify(given, allow_unicode=True)


def moment(fields: Fields, name: str) -> datetime | None:
    """An instant in UTC, or None. It needs an offset, because the time zone cannot be guessed."""
    value = fields.get(name)
    if value is None or value == "":
        return None
    try:
        parsed = rounded_up(datetime.fromisoformat(str(value).strip()), str(value))
    except ValueError as error:
        raise Refused(
            name,
            _('"%(value)s" is not a time such as 2026-11-21T07:00:00+08:00')
            % {
                "value": str(value)[:40],
            },
        ) from error
    if parsed.tzinfo is None:
        raise Refused(name, _('"%(value)s" has no time zone; add an offset such as +08:00 or Z') % {"value": value})
    return _in_range(name, parsed)


def _in_range(name: str, parsed: datetime) -> datetime:
    try:
        in_utc = parsed.astimezone(UTC)
    except OverflowError:
        in_utc = None
    if in_utc is None or not EARLIEST <= in_utc < LATEST:
        years = {"first": EARLIEST.year, "last": LATEST.year}
        raise Refused(name, _("lies outside the years %(first)d to %(last)d") % years)
    return in_utc


def names(fields: Fields, name: str, longest: int) -> tuple[str, ...]:
    """Distinct names from a list, or from a text with commas, semicolons or bars between them."""
    value = fields.get(name)
    if isinstance(value, str):
        value = _SEPARATORS.split(value)
    elif value is None:
        value = []
    if not isinstance(value, list):
        raise Refused(name, _("is neither a list nor a text"))
    found = (line({name: each}, name, longest) for each in value)
    return tuple({each.casefold(): each for each in found if each}.values())
