"""Each screen of the URL configuration and of the admin's registry opens without an error and is light enough.

`test_accessibility` opens those of `addresses` as administrator; here are the others, and what an author may see: of
the author's, `make test` opens a few in a browser, `make thorough` one of those that load the same scripts, and
`make screens` all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import Resolver404, get_resolver, resolve
from playwright.sync_api import Browser, Page, Request

from tests.conftest import Site
from tests.headline.test_named_to_staff import filled, flat, model_of
from tests.screens import addresses
from tests.screens.newsroom import fill
from tests.screens.test_accessibility import FRAMES, Scheme, let_in, record_errors, weight_error

pytestmark = pytest.mark.django_db(transaction=True)

_SCRIPT = re.compile(r'<script\b[^>]*\ssrc="([^"?]+)')

OF_AUTHORS = ("dashboard", "articles", "article-new", "images", "calendar")
"""Screens that an author works with."""

PUBLIC = {"latest": "/latest/", "api-docs": "/api/docs/", "api-articles": "/api/v1/articles/"}
"""Public pages that `addresses` does not have; they are part of none of the designs that are tested there."""


UNLISTED = frozenset(
    {
        *("admin:articles_article_checks", "admin:articles_article_state", "admin:articles_article_preview_new"),
        *("admin:articles_image_focus", "admin:articles_image_picker", "articles.desk.palette.views.search"),
        *("admin:articles_notification_choose", "admin:articles_sensitiveword_add_many", "latest"),
        *("desk_dashboard", "desk_monitoring_content", "account_reauthenticate", "admin:password_change_done"),
        "admin:scheduling_workerheartbeat_change",
    }
)
"""Pages that `addresses` does not have: parts of others, answers to forms, and those made as others are."""


def routes() -> Iterator[str]:
    """An address for each URL, with the first row of its model."""
    for _pattern, route in flat(get_resolver().url_patterns, ""):
        if "(?P<" in route or route.startswith("api/"):
            continue
        model = model_of(route)
        row = model._default_manager.order_by("pk").first() if model else None
        yield "/" + filled(route, str(row.pk) if row else "1")


def name_of(address: str) -> str:
    """The name of its URL."""
    try:
        return str(resolve(address.partition("?")[0]).view_name)
    except Resolver404:
        return ""


def by_name(candidates: Iterator[str]) -> dict[str, str]:
    """URL name to address, the last of each name."""
    return {name_of(address): address for address in candidates}


def shown_to(client: Client, candidates: Mapping[str, str]) -> dict[str, tuple[str, frozenset[str]]]:
    """Address and scripts of those that are pages, and not scripts, redirects, or forbidden."""
    found = {}
    for name, address in candidates.items():
        response = client.get(address)
        if response.status_code == 200 and response.headers["Content-Type"].startswith("text/html"):
            found[name] = address, frozenset(_SCRIPT.findall(response.text))
        response.close()
    return found


def to_open(shown: Mapping[str, tuple[str, frozenset[str]]], *, in_full: bool) -> dict[str, str]:
    """The addresses of all, or of the first with each set of scripts."""
    first = {scripts: name for name, (_address, scripts) in reversed([*shown.items()])}
    return {name: address for name, (address, scripts) in shown.items() if in_full or first[scripts] == name}


def errors_on(page: Page, screens: Mapping[str, str]) -> dict[str, list[str]]:
    """Screen to console errors, failed requests and too great a weight."""
    errors, found = record_errors(page), {}

    def add_failed(request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # by the way to the next page
            errors.append(f"{request.url}: {request.failure}")

    page.on("requestfailed", add_failed)
    for name, address in screens.items():
        page.goto(address, wait_until="load")
        page.evaluate(FRAMES)
        found[name] = [*errors, *weight_error(page)]
        errors.clear()
    return {name: lines for name, lines in found.items() if lines}


def test_every_screen_is_listed_or_opens_without_an_error(browser: Browser, site: Site) -> None:
    fill()
    of_listed = by_name(iter(listed().values()))
    others = unlisted()
    for model in admin.site._registry:
        assert f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist" in of_listed
    forgotten = {name for name in others.keys() - UNLISTED if not name.endswith(("_history", "_delete"))}
    assert not forgotten, "add them to `addresses`, so that their texts, colours and names are tested"
    assert errors_for(browser, site, to_open(others, in_full=False), user="admin") == {}
    screens = addresses.desk()
    of_author = {name: screens[name] for name in OF_AUTHORS}
    assert errors_for(browser, site, of_author, user="author", scheme="dark") == {}
    assert errors_for(browser, site, PUBLIC) == {}


@pytest.mark.parametrize(
    "in_full",
    [
        pytest.param(False, id="each set of scripts", marks=pytest.mark.thorough),
        pytest.param(True, id="in full", marks=pytest.mark.screens),
    ],
)
def test_every_screen_opens_without_an_error(browser: Browser, site: Site, in_full: bool) -> None:  # noqa: FBT001
    fill()
    if in_full:
        assert errors_for(browser, site, to_open(unlisted(), in_full=True), user="admin") == {}
    of_author = shown_to(client_of("author"), {**by_name(routes()), **by_name(iter(listed().values()))})
    assert errors_for(browser, site, to_open(of_author, in_full=in_full), user="author", scheme="dark") == {}


def listed() -> dict[str, str]:
    """The screens that `test_accessibility` opens."""
    return {**addresses.desk(), **addresses.readers(), **addresses.forgotten()}


def unlisted() -> dict[str, tuple[str, frozenset[str]]]:
    """The others that are pages for an administrator."""
    every, of_listed = by_name(routes()), by_name(iter(listed().values()))
    return shown_to(client_of("admin"), {name: every[name] for name in every.keys() - of_listed.keys()})


def client_of(role: str) -> Client:
    """A client with a session of the demo user of this role."""
    client = Client()
    client.force_login(User.objects.get(username=role))
    return client


def errors_for(
    browser: Browser, site: Site, screens: Mapping[str, str], *, user: str = "", scheme: Scheme = "light"
) -> dict[str, list[str]]:
    """`errors_on` in a new browser of this user, or of a reader."""
    with browser.new_context(base_url=site.url, locale="en-US", color_scheme=scheme) as context:
        if user:
            let_in(context, User.objects.get(username=user))
        return errors_on(context.new_page(), screens)
