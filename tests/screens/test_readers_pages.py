"""Requirements of every readers' page: valid HTML, small size, few queries, no data of the visitor."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from articles.cache.next_change import next_change
from tests.articles.statements import reading
from tests.screens.addresses import readers
from tests.screens.newsroom import fill
from tests.screens.validity import faults

pytestmark = pytest.mark.django_db

MOST_BYTES = 60_000
"""Of a page with its style sheet and scripts, as they are; without images."""

MOST_STATEMENTS = 7
"""One of them for the breaking alert, which is read while there is one."""

MOST_OF_A_SEARCH = 9
"""It also samples a large index, by ids, which grow with what ran before; MariaDB compares the latest changes twice."""

LISTS = ("front-page", "front-page-older", "channel", "tag", "author")
STATUS = {"retracted": 410, "nothing": 404}

Promise = Callable[[str, str], Iterator[str]]
"""Yields the faults of a page, given its name and URL."""


def is_valid(name: str, address: str) -> Iterator[str]:
    for language in ("en", "zh-hans"):
        response = Client(headers={"accept-language": language}).get(address)
        assert response.status_code == STATUS.get(name, 200), name
        yield from faults(response.text)


def is_light(name: str, address: str) -> Iterator[str]:
    weight = len(Client().get(address).content) + sum(path.stat().st_size for path in loaded(address))
    if weight >= MOST_BYTES:
        yield f"weighs {weight} bytes"


def loaded(address: str) -> list[Path]:
    """The style sheet and the scripts of a page."""
    text = Client().get(address).text
    names = re.findall(r'(?:<script|<link rel="stylesheet")[^>]*(?:src|href)="/static/([^"]+)"', text)
    assert "articles/site.css" in names
    return [Path(str(finders.find(name))) for name in names]


def is_cheap(name: str, address: str) -> Iterator[str]:
    caches["responses"].clear()
    with CaptureQueriesContext(connection) as queries:
        Client().get(address)
    # Where the machine takes so long that an article of the demo is due by now, updates and releases are looked for.
    most = (MOST_OF_A_SEARCH if name == "search" else MOST_STATEMENTS) + next_change().is_due
    if (number := len(reading(queries))) > most:
        yield f"costs {number} statements"
    bodies = [query["sql"] for query in queries.captured_queries if re.search(r"_article.\..body\b", query["sql"])]
    if name in LISTS and bodies:
        yield f"loads bodies: {bodies[0][:99]}"


def is_strict(name: str, address: str) -> Iterator[str]:
    """Under the content security policy, scripts and styles in the text would not work."""
    text = Client().get(address).text
    if re.search(r"\sstyle=|<style|\son\w+=|javascript:|<script(?![^>]*(src=|application/ld\+json))", text):
        yield "holds a script or a style in its text"


def is_everybodys(name: str, address: str) -> Iterator[str]:
    """The response may be shared by all readers."""
    user = Client()
    user.force_login(User.objects.get(username="admin"))
    user.get(reverse("admin:index"))
    theirs, anonymous = user.get(address), Client().get(address)
    if theirs.text != anonymous.text or theirs.cookies or "csrf" in anonymous.text:
        yield "depends on who reads it"
    if name != "search" and "zanzibar" in Client().get(address, {"zanzibar": "zanzibar"}).text:
        yield "repeats what nobody asked for"


PROMISES: tuple[Promise, ...] = (is_valid, is_light, is_cheap, is_strict, is_everybodys)


def test_every_page_is_valid_light_cheap_and_the_same_for_every_user() -> None:
    fill()
    pages = {name: address for name, address in readers().items() if name != "log-in"} | {"nothing": "/nothing/"}
    broken = {name: [fault for keeps in PROMISES for fault in keeps(name, address)] for name, address in pages.items()}
    assert {name: found for name, found in broken.items() if found} == {}


@pytest.mark.parametrize(
    "wrong",
    [
        "<p><div></div></p>",
        "<a href=x><a href=y>z</a></a>",
        "<p id=a></p><p id=a></p>",
        "<ul><p></p></ul>",
        "<h3>x</h3>",
        '<p class="a" class="b"></p>',
        '<label for="x"></label>',
        "<img src=x>",
        '<time datetime="2026-11-21T09:27:10.901647+00:00">x</time>',
        "</section>",
        "<section>",
    ],
)
def test_the_validator_sees_what_is_wrong(wrong: str) -> None:
    page = "<!doctype html><html><head><title>x</title></head><body><main><h1>x</h1>{}</main></body></html>"
    assert faults(page.format("<p>Fine</p>")) == []
    assert faults(page.format(wrong))
