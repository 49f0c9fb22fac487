"""Every screen, list and address of the newsroom says of each article what readers see at that instant.

The addresses are those of the URL configuration, so a new screen is walked, too. A block of a page (a row, a card, an
entry, or the whole form) that names one article must not say what is untrue of it then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from html import unescape
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

import pytest
from django.db import models
from django.test import Client
from django.urls import get_resolver

from articles.models import Article, State
from tests.articles.factories import make_user, soon
from tests.articles.situations import SITUATIONS, Situation, run_worker
from tests.headline.test_named_to_staff import filled, flat, model_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

UNTRUE: Mapping[State, tuple[str, ...]] = {
    State.SCHEDULED: ("Went live", "Live since", "overdue", "Unpublished", "Readers no longer see it"),
    State.LIVE: ("Goes live", "will go live", "Readers no longer see it", "Approved", "Scheduled"),
    State.UNPUBLISHED: ("Goes live", "Will be unpublished", "It is live", "Approved", "Scheduled"),
    State.WAITING: ("Went live", "Live since", "Readers no longer see it", "overdue"),
    State.OVERDUE: ("Went live", "Live since", "Readers no longer see it"),
}
"""What no block about an article in this state says."""

FUTURE_OF_OTHERS = ("calendar-reschedule", "calendar/reschedule", "/sheet", "/times")
"""Parts of addresses that ask about a time to come, and need one that is chosen."""

_SCRIPTS = re.compile(r"(?s)<(script|style|template|svg|select|datalist)\b.*?</\1>")
_TAGS = re.compile(r"<[^>]*>")
_BLOCK = re.compile(r"</?(?:tr|li|article)\b[^>]*>")
_HISTORY = re.compile(r"(?s)<(?:ol|ul|table)[^>]*(?:activity|history|timeline)[^>]*>.*?</(?:ol|ul|table)>")


OF_OTHER_STATES = ("auditentry", "history", "notification", "bulk", "scheduling/")
"""Parts of addresses of screens with former states, and with those of tasks."""


SEARCHES = ("admin/search/", "/targets/")
"""Ends of addresses that find nothing without a text."""

OF_AN_ARTICLE = ("article", *SEARCHES)
"""Parts of addresses that are others for each article: one is enough of the others."""


def addresses(article: Article, release: int, done: Container[str]) -> Iterator[tuple[str, str]]:
    """Each route that is not done, and its address about this article and this release where it is about one."""
    for _pattern, route in flat(get_resolver().url_patterns, ""):
        if route in done:
            continue
        if "(?P<" in route or any(part in route for part in FUTURE_OF_OTHERS) or "logout" in route:
            continue
        query = "?" + urlencode({"q": article.title, "s": article.title}) if route.endswith(SEARCHES) else ""
        yield route, "/" + filled(route, str(key_of(route, model_of(route), article.pk, release))) + query


def key_of(route: str, model: type[models.Model] | None, pk: int, release: int) -> object:
    """The primary key in the address."""
    if model is not None and model._meta.model_name == "release" or "releases/" in route:
        return release
    if model is None or model._meta.model_name in ("article", "queuedarticle"):
        return pk
    row = model._default_manager.order_by("pk").first()
    return row.pk if row else 1


def blocks(text: str) -> Iterator[str]:
    """The visible texts of the rows, cards and entries of a page."""
    for block in _BLOCK.split(_HISTORY.sub("", _SCRIPTS.sub("", text))):
        yield " ".join(unescape(_TAGS.sub(" ", block)).split())


def untrue(text: str, titles: Mapping[str, State]) -> list[str]:
    """Blocks that name one article and say what is untrue of it."""
    found = []
    for block in blocks(text):
        named = [title for title in titles if title in block]
        if len(named) == 1 and "→" not in block and "Release with" not in block:  # a change, or a release's own state
            words = [word for word in UNTRUE[titles[named[0]]] if word in block]
            found += [f"{word!r} in {block[:160]!r}" for word in words]
    return found


def untrue_rows(document: Any, titles: Mapping[str, State]) -> list[str]:
    """Objects of an API's response with another state than readers see."""
    if isinstance(document, list):
        return [line for one in document for line in untrue_rows(one, titles)]
    if not isinstance(document, dict):
        return []
    found = [line for one in document.values() for line in untrue_rows(one, titles)]
    state = titles.get(document.get("title", ""))
    if state is not None and "state" in document and document["state"] != state:
        found.append(f"{document['title']} is {document['state']}, not {state}")
    return found


@pytest.mark.parametrize(
    ("is_past", "has_run", "share"),
    [
        pytest.param(True, False, 8, id="in short"),
        *(
            pytest.param(is_past, has_run, 1, id=name, marks=pytest.mark.thorough)
            for is_past, has_run, name in [(False, False, "before"), (True, False, "no worker"), (True, True, "worker")]
        ),
    ],
)
def test_no_screen_says_what_readers_do_not_see(is_past: bool, has_run: bool, share: int) -> None:  # noqa: FBT001
    """In short, each screen is walked for an eighth of the articles, which are others than those of the next screen."""
    desk = Client(raise_request_exception=False)
    desk.force_login(make_user("root", is_superuser=True))
    at = soon(seconds=-10 if is_past else 3000)  # the walk takes minutes where the machine is busy
    situations: list[Situation] = [build(at) for build in SITUATIONS.values() if build.__name__ not in RELEASED]
    if has_run:
        run_worker()
    titles = {one.article.title: one.expected(soon()) for one in situations}
    release = next((one.release.pk for one in situations if one.release), 1)
    walked, once, done, found = set[str](), set[str](), set[str](), dict[Any, Any]()
    for number, situation in enumerate(situations):
        for route, address in addresses(situation.article, release, done):
            if address in walked or (crc32(route.encode()) + number) % share:
                continue
            walked.add(address)
            response = desk.get(address)
            assert response.status_code < 500, address
            kind = response.headers.get("Content-Type", "")
            if response.status_code == 405 or any(part in route for part in OF_OTHER_STATES):
                once.add(route)  # whatever the article, there is nothing to read
                done.add(route)
            elif not any(part in route for part in OF_AN_ARTICLE):
                done.add(route)
            if response.status_code != 200 or response.streaming or route in once:
                continue
            lines = []
            if kind.startswith("text/html"):
                lines = untrue(response.text, titles)
            elif kind.startswith("application/json"):
                lines = untrue_rows(json.loads(response.text), titles)
            if lines:
                found[address] = lines
    print(f"\n{len(walked)} addresses, {len(situations)} states: {sorted({*titles.values()})}")  # noqa: T201 (with -s)
    assert len(walked) > 500 // share and len(once) > 50
    assert found == {}


RELEASED = ("update", "unapproved_update", "updated_member")
"""Of their articles two things are true at once: the text that readers see, and one that is to come."""


def test_the_walk_would_find_a_screen_that_reads_the_stored_status() -> None:
    titles = {"Ferry": State.LIVE, "Bridge": State.SCHEDULED}
    page = "<table><tr><td>Ferry<td>Goes live 07:00</tr><tr><td>Bridge<td>Goes live 08:00</tr></table>"
    assert untrue(page, titles) == ["'Goes live' in 'Ferry Goes live 07:00'"]
    assert untrue_rows({"results": [{"title": "Ferry", "state": "scheduled"}]}, titles) == [
        "Ferry is scheduled, not live"
    ]
    assert Article.objects.count() == 0
