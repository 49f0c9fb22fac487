"""No screen of the desk reports an error to the browser's console, and each has one main landmark."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import BrowserContext, ConsoleMessage, Error

from tests.screens import addresses
from tests.screens.newsroom import fill
from tests.screens.test_accessibility import PARTS, let_in
from tests.screens.test_accessibility import context as context

pytestmark = pytest.mark.django_db(transaction=True)


def errors(context: BrowserContext, screens: Mapping[str, str]) -> dict[str, list[str]]:
    """Screen to what it reports while it is opened wide and made narrow."""
    page, found = context.new_page(), dict[str, list[str]]()
    shown: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type == "error":
            shown.append(f"{message.text} ({message.location['url']})")

    def note_uncaught(error: Error) -> None:
        shown.append(str(error))

    page.on("console", note)
    page.on("pageerror", note_uncaught)
    for name, address in screens.items():
        page.set_viewport_size({"width": 1440, "height": 900})
        page.goto(address, wait_until="networkidle")
        page.set_viewport_size({"width": 390, "height": 844})
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        if page.get_by_role("main").count() != 1:
            shown.append("there is not one main landmark")
        found[name] = [*shown]
        shown.clear()
    return {name: lines for name, lines in found.items() if lines}


@pytest.mark.parametrize("part", range(PARTS))
def test_no_screen_of_the_desk_reports_an_error(context: BrowserContext, part: int) -> None:
    let_in(context, fill())
    assert errors(context, dict(list(addresses.desk().items())[part::PARTS])) == {}


def test_no_page_of_logging_in_reports_an_error(context: BrowserContext) -> None:
    fill()
    assert errors(context, {"log-in": addresses.readers()["log-in"], **addresses.forgotten()}) == {}


def test_no_screen_that_others_see_otherwise_reports_an_error(context: BrowserContext) -> None:
    fill()
    for name, screens in addresses.of_others().items():
        let_in(context, User.objects.get(username=name))
        assert errors(context, screens) == {}
