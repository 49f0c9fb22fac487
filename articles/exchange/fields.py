"""Parse and validate single fields of a record. The functions raise `Refused` with a message that says what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from django.utils.text import slugify
from django.utils.translation import gettext as _

from articles.exchange.outside_times import Parsed, parse_time
from articles.exchange.records import Refused
from articles.limits import LABEL_LENGTH, MOST_TAGS
from articles.text import one_line

Fields = Mapping[str, object]

_ANY_LENGTH = 1_000_000
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_SLUG = re.compile(r"[-\w]+")
_SEPARATORS = re.compile(r"[,;|，；、]")


def tidy(value: str) -> str:
    """`value` without control characters and surrounding spaces."""
    return _CONTROLS.sub("", value).strip()


def text(fields: Fields, name: str, longest: int, notes: list[str] | None = None) -> str:
    """A text without control characters; "" if it is missing.

    One of more than `longest` characters is cut at a word, which is added to `notes`, or refused without those.
    """
    value = fields.get(name)
    if value is None:
        return ""
    if isinstance(value, bool | float) or not isinstance(value, str | int):
        raise Refused(name, _("is not a text"))
    value = tidy(str(value))
    if _SURROGATES.search(value):
        raise Refused(name, _("contains half a character (a lone surrogate); write the whole character"))
    if len(value) <= longest:
        return value
    numbers = {"found": len(value), "limit": longest}
    if notes is None:
        raise Refused(name, _("has %(found)d characters; shorten it to %(limit)d") % numbers)
    notes.append(f"{name}: " + _("has %(found)d characters; cut to %(limit)d") % numbers)
    return cut(value, longest)


def cut(value: str, longest: int) -> str:
    """`value` with at most `longest` characters, cut at a word if one ends in the second half."""
    head = value[: longest - 1]
    at_word = head.rfind(" ") if not value[longest - 1].isspace() else len(head)
    return (head[:at_word] if at_word > longest // 2 else head).rstrip() + "…"


def line(fields: Fields, name: str, longest: int, notes: list[str] | None = None) -> str:
    """A text on one line; "" if nothing of it can be seen. See `text`."""
    value = fields.get(name)
    return text({name: one_line(tidy(value))} if isinstance(value, str) else fields, name, longest, notes)


def needed(fields: Fields, name: str, longest: int) -> str:
    """A text on one line that is not empty."""
    value = line(fields, name, longest)
    if not value:
        raise Refused(name, _("is missing"))
    return value


def one_of(fields: Fields, name: str, known: Sequence[str]) -> str:
    """One of these words."""
    word = line(fields, name, 40)
    if word not in known:
        words = {"word": word, "known": _(", ").join(known)}
        raise Refused(name, _('"%(word)s" is not known; use one of %(known)s') % words)
    return word


def slug(fields: Fields, longest: int, *, title: str) -> str:
    """A valid slug from the field or from `title`."""
    return valid_slug(fields, "slug", longest)[:longest].strip("-_") or slugify(title, allow_unicode=True)[
        :longest
    ].strip("-_")


def valid_slug(fields: Fields, name: str, longest: int) -> str:
    """A valid slug from the field; "" if it is missing."""
    given = text(fields, name, _ANY_LENGTH)[:longest]
    return given if _SLUG.fullmatch(given) else slugify(given, allow_unicode=True)


def moment(fields: Fields, name: str) -> Parsed | None:
    """An instant in UTC and a note on its conversion, or None. It needs an offset: the time zone is not guessed."""
    value = fields.get(name)
    return None if value is None or value == "" else parse_time(name, value)


def number(fields: Fields, name: str, most: int) -> int | None:
    """A whole number from 0 to `most`, or None if it is missing."""
    given = text(fields, name, _ANY_LENGTH)
    if not given:
        return None
    if not given.isdecimal() or int(given[:20]) > most:
        raise Refused(name, _("is not a whole number from 0 to %(most)d") % {"most": most})
    return int(given)


def flag(fields: Fields, name: str) -> bool:
    """False for false, no or 0; True if it is missing."""
    given = fields.get(name)
    return str(given).strip().lower() not in {"false", "no", "0"}


def names(fields: Fields, name: str, longest: int, notes: list[str] | None = None) -> tuple[str, ...]:
    """Distinct names from a list, or from a text with commas, semicolons or bars between them."""
    value = fields.get(name)
    if isinstance(value, str):
        value = _SEPARATORS.split(value)
    elif value is None:
        value = []
    if not isinstance(value, list):
        raise Refused(name, _("is neither a list nor a text"))
    found = (line({name: each}, name, longest, notes) for each in value)
    return tuple({each.casefold(): each for each in found if each}.values())


def tags(fields: Fields, notes: list[str]) -> tuple[str, ...]:
    """The names of tags; too many of them are left out, which is added to `notes`."""
    found = names(fields, "tags", LABEL_LENGTH, notes)
    if len(found) > MOST_TAGS:
        notes.append(_("%(count)d tags: the first %(most)d are kept") % {"count": len(found), "most": MOST_TAGS})
    return found[:MOST_TAGS]
