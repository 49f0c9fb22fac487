"""Parse dates of feeds: RFC 822 (RSS), ISO 8601 (Atom), and common deviations in both."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from django.utils.translation import gettext as _

from articles.exchange.records import Refused
from scheduling.services import rounded_up

ZONES = {
    "WET": "+0000", "WEST": "+0100", "CET": "+0100", "CEST": "+0200", "EET": "+0200", "EEST": "+0300", "MSK": "+0300",
    "HKT": "+0800", "SGT": "+0800", "JST": "+0900", "KST": "+0900", "AEST": "+1000", "AEDT": "+1100", "NZST": "+1200",
    "NZDT": "+1300",
}  # fmt: skip
"""Unambiguous names of time zones. RFC 822 defines the American ones; BST or IST have several meanings."""

_ZONE = re.compile(r"\b[A-Z]{3,4}$")


def moment(text: str) -> str:
    """ISO 8601 with an offset. An invalid time is returned unchanged; validation refuses it later. Raises `Refused`."""
    if not text:
        raise Refused("date", _("is missing; an entry needs its pubDate, published, updated or dc:date"))
    found = _from_iso(text) or _from_mail(_ZONE.sub(lambda zone: ZONES.get(zone[0], zone[0]), text))
    if found is None:
        return text
    if found.tzinfo is None:
        message = _('"%(text)s" has no known time zone; use an offset such as +0200')
        raise Refused("date", message % {"text": text[:60]})
    return found.isoformat()


def _from_mail(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found.replace(tzinfo=UTC) if text.endswith("-0000") else found


def _from_iso(text: str) -> datetime | None:
    try:
        return rounded_up(datetime.fromisoformat(text), text)
    except ValueError:
        return None
