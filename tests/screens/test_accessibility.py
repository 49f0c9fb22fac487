"""axe-core finds nothing serious on any screen, light and wide as well as dark and narrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page

from tests.conftest import Site
from tests.screens import addresses
from tests.screens.newsroom import fill

pytestmark = pytest.mark.django_db(transaction=True)

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
SERIOUS = {"serious", "critical"}
WHOLE: Mapping[str, Any] = {"resultTypes": ["violations"]}
LOOK_RULES = ["color-contrast", "link-in-text-block", "scrollable-region-focusable"]
LOOK_ALONE = {**WHOLE, "runOnly": LOOK_RULES}
"""The rules that depend on scheme and width: the others need no second look at the same page."""


@pytest.fixture
def context(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    """A browser without animations, in which colours would be between two values."""
    with browser.new_context(base_url=site.url, locale="en-US", reduced_motion="reduce") as context:
        context.add_init_script(AXE)
        yield context


def let_in(context: BrowserContext, site: Site) -> None:
    """Fill the newsroom and give the browser its administrator's session."""
    client = Client()
    client.force_login(fill())
    context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": site.url}])


def faults(page: Page, options: Mapping[str, Any]) -> list[str]:
    """What axe finds on the page as it is, a line each."""
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    worst = [fault for fault in found if fault["impact"] in SERIOUS]
    return [f"{fault['id']}: {node['html'][:200]}" for fault in worst for node in fault["nodes"]]


def look(page: Page, width: int, scheme: Literal["light", "dark"]) -> None:
    """Have the page in this width and scheme."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    page.evaluate("isDark => document.documentElement.classList.toggle('dark', isDark)", scheme == "dark")


def all_faults(context: BrowserContext, screens: Mapping[str, str]) -> dict[str, list[str]]:
    """Screen to what axe finds there, wide and light as well as narrow and dark."""
    page, found = context.new_page(), {}
    for name, address in screens.items():
        look(page, 1440, "light")
        page.goto(address, wait_until="load")
        found[name] = faults(page, WHOLE)
        look(page, 390, "dark")
        found[f"{name}, narrow and dark"] = faults(page, LOOK_ALONE)
    return {name: lines for name, lines in found.items() if lines}


def test_axe_finds_nothing_serious_in_the_desk(context: BrowserContext, site: Site) -> None:
    let_in(context, site)
    assert all_faults(context, addresses.desk()) == {}


def test_axe_finds_nothing_serious_on_readers_pages(context: BrowserContext) -> None:
    fill()
    assert all_faults(context, addresses.readers()) == {}
