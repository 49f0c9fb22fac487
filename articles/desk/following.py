"""Open pages that follow the clock and other users: `articles/static/articles/follow.js` asks, this answers.

A page contains its `Following` as JSON, and elements with `data-part`. Its script asks again at the next change, by the
address of the `Following` with `?follow=VERSION`. The answer is 204 if the page is as in that version, else the parts
as they are now with the new `Following`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from django.http import HttpRequest, HttpResponse

ASKED = "follow"
"""The parameter with the version that a page shows."""

NEXT = "Follow-Next"
"""The header of an answer without content: milliseconds until the page asks again; empty if nothing is to come."""

POLL = 10_000
"""Milliseconds after which a page that hears of changes by no other way asks for those of other users."""

SETTLING = timedelta(milliseconds=400)
"""After an instant. Workers store what is due within milliseconds; before, a page would say that none has."""

SOONEST, LATEST = timedelta(milliseconds=250), timedelta(seconds=30)
"""Within which a page asks again for what waits for a worker: soon at first, then less and less often."""


@dataclass(frozen=True, kw_only=True)
class Following:
    """What the script of a page needs: where to ask, what it shows, and when that changes.

    `next` is in milliseconds from now, so that the clock of the browser does not matter.
    """

    url: str
    version: str
    next: int | None  #: None if the clock changes nothing
    poll: int = 0  #: milliseconds; 0 if the page hears of changes by other users anyway
    happened: Mapping[str, str] = field(default_factory=dict)  #: sentences; a new key is read out

    def as_json(self) -> dict[str, Any]:
        """For the page."""
        return asdict(self)


def next_change(
    now: datetime, to_come: Sequence[datetime | None], *, awaited: Sequence[datetime | None] = ()
) -> int | None:
    """Milliseconds until the first of the instants that are `to_come` after `now`; None without any.

    A worker has to do something about those `awaited`. While it has not, the page asks again after a part of the time
    that it is late by.
    """
    waits = [moment - now + SETTLING for moment in (*to_come, *awaited) if moment and moment > now]
    waits += [min(max((now - moment) / 2, SOONEST), LATEST) for moment in awaited if moment and moment <= now]
    return ceil(min(waits) / timedelta(milliseconds=1)) if waits else None


def version_of(*shown: object) -> str:
    """A short text that differs when one of these values does."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:20]


def answer_unchanged(request: HttpRequest, following: Following) -> HttpResponse | None:
    """The answer to a page that shows this version; None if the request is for the parts, or for a whole page."""
    if request.GET.get(ASKED) != following.version:
        return None
    wait = "" if following.next is None else str(following.next)
    return HttpResponse(status=204, headers={NEXT: wait})


def address_to_follow(request: HttpRequest) -> str:
    """The address of this request, without the version."""
    query = request.GET.copy()
    query.pop(ASKED, None)
    return f"{request.path}?{query.urlencode()}" if query else request.path
