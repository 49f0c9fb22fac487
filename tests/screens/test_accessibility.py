"""Accessibility of every page: axe-core finds nothing serious, the console is empty.

`make test` looks at a screen of each kind, one wide and light, the next narrow and dark; `make thorough` looks at all
like that, and `make screens` at each in both widths and schemes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page

from tests.conftest import Site
from tests.screens import addresses
from tests.screens.newsroom import fill

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
MARK_ALIKE = Path(__file__).with_name("alike.js").read_text(encoding="utf-8")
SERIOUS = {"serious", "critical"}
FIRST_ONES = {"exclude": [["[data-alike]"]]}
WHOLE: Mapping[str, Any] = {
    "resultTypes": ["violations"],
    "preload": False,
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"],
}
COLOURS: Mapping[str, Any] = {**WHOLE, "runOnly": ["color-contrast", "link-in-text-block"]}
"""The rules that depend on the scheme: the others need no second look at the same page in the same width."""

# To refuse the request by a route would switch off the browser's cache, and each page would fetch all its files again.
# What is asked for is counted, too: the browser's own "networkidle" is half a second without a request, on each page.
OWN_FETCH = """
    const send = window.fetch;
    window.unanswered = 0;
    window.fetch = async (address, ...rest) => {
        if (String(address).includes("/advance/")) throw new TypeError("not here");
        window.unanswered += 1;
        try {
            const answer = await send(address, ...rest);
            await answer.clone().arrayBuffer();
            return answer;
        } finally {
            setTimeout(() => (window.unanswered -= 1)); // once the page has used it
        }
    };
"""
FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"

WEIGHT, EDITOR_WEIGHT = 2_600_000, 1_200_000
"""The most bytes of a page with all that it loads, uncompressed."""

Scheme = Literal["light", "dark"]
Looks = tuple[tuple[int, Scheme, Mapping[str, Any]], ...]
"""Widths and schemes of one page, and what to look for."""

IN_TURN: Sequence[Looks] = (((1440, "light", WHOLE),), ((390, "dark", WHOLE),))
IN_FULL: Sequence[Looks] = (
    ((1440, "light", WHOLE), (1440, "dark", COLOURS), (390, "light", WHOLE), (390, "dark", COLOURS)),
)

in_all_looks = pytest.mark.parametrize(
    "looks",
    [
        pytest.param(IN_TURN, id="in turn", marks=pytest.mark.thorough),
        pytest.param(IN_FULL, id="in full", marks=pytest.mark.screens),
    ],
)
"""The looks of the first page, of the second and so on, and then from the beginning."""


@pytest.fixture
def context(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    """A browser without animations, in which colours would be between two values; nothing goes on by itself."""
    with browser.new_context(base_url=site.url, locale="en-US", reduced_motion="reduce") as context:
        context.add_init_script(OWN_FETCH)
        context.add_init_script(AXE)
        yield context


def let_in(context: BrowserContext, user: User) -> None:
    """Give the browser a person's session."""
    client = Client()
    client.force_login(user)
    value = client.cookies["sessionid"].value
    context.add_cookies([{"name": "sessionid", "value": value, "domain": "127.0.0.1", "path": "/"}])


def faults(page: Page, options: Mapping[str, Any]) -> list[str]:
    """The faults that axe finds on the open page, a line each."""
    found = page.evaluate("asked => axe.run(...asked)", [FIRST_ONES, options])["violations"]
    worst = [fault for fault in found if fault["impact"] in SERIOUS]
    return [f"{fault['id']}: {node['html'][:200]}" for fault in worst for node in fault["nodes"]]


def look(page: Page, width: int, height: int, scheme: Scheme) -> None:
    """Set the page's size and colour scheme."""
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    page.evaluate("isDark => document.documentElement.classList.toggle('dark', isDark)", scheme == "dark")


def record_errors(page: Page) -> list[str]:
    """A list to which the page's console errors and uncaught exceptions are added."""
    errors: list[str] = []

    def add_message(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(f"{message.text} ({message.location['url']})")

    def add_uncaught(error: Error) -> None:
        errors.append(str(error))

    page.on("console", add_message)
    page.on("pageerror", add_uncaught)
    return errors


def weight_error(page: Page) -> list[str]:
    """That the page and what it has loaded is too large, uncompressed, if it is."""
    weight = page.evaluate("""() => performance.getEntriesByType("navigation")
        .concat(performance.getEntriesByType("resource")).reduce((sum, entry) => sum + entry.decodedBodySize, 0)""")
    most = EDITOR_WEIGHT if page.locator("body.workspace").count() else WEIGHT
    return [f"weighs {weight:,} bytes"] if weight > most else []


def all_faults(
    context: BrowserContext, screens: Mapping[str, str], looks: Sequence[Looks], *, gone: Container[str] = ()
) -> dict[str, list[str]]:
    """Screen, width and scheme to what axe finds there, and screen to its errors; a page is loaded once.

    The browser itself reports an error for the screens in `gone`, whose status is 410.
    """
    page, found = context.new_page(), dict[str, list[str]]()
    errors = record_errors(page)
    for (name, address), its in zip(screens.items(), cycle(looks), strict=False):
        errors.clear()
        look(page, its[0][0], 900, its[0][1])
        page.goto(address)
        page.evaluate(FRAMES)  # in which its scripts ask for more
        page.wait_for_function("() => !window.unanswered")
        found |= faults_here(page, name, its)
        page.evaluate(FRAMES)
        if page.get_by_role("main").count() != 1:
            errors.append("there is not one main landmark")
        if faulty := [*([] if name in gone else errors), *weight_error(page)]:
            found[name] = faulty
    page.close()
    return found


def faults_here(page: Page, name: str, looks: Looks) -> dict[str, list[str]]:
    """The same of the page that is open."""
    found: dict[str, list[str]] = {}
    page.evaluate("async () => void (await document.fonts.ready)")  # until then icons are words
    page.evaluate("() => document.querySelectorAll('main details').forEach(details => details.open = true)")
    page.evaluate(MARK_ALIKE)
    for width, scheme, options in looks:
        look(page, width, 900, scheme)
        found[f"{name}, {width}, {scheme}"] = faults(page, options)
    return {place: lines for place, lines in found.items() if lines}


def without(screens: Mapping[str, str], names: frozenset[str]) -> dict[str, str]:
    """The other screens."""
    assert names <= screens.keys()
    return {name: address for name, address in screens.items() if name not in names}


def test_one_screen_of_each_kind_has_no_fault(context: BrowserContext) -> None:
    admin = fill()
    strangers = {**addresses.readers(), **addresses.forgotten()}
    assert strangers.keys() | addresses.desk().keys() >= addresses.OF_EACH_KIND
    found = all_faults(context, chosen(strangers), IN_TURN, gone={"retracted"})
    let_in(context, admin)
    assert found | all_faults(context, chosen(addresses.desk()), IN_TURN) == {}


def chosen(screens: Mapping[str, str]) -> dict[str, str]:
    """Those of `addresses.OF_EACH_KIND`."""
    return {name: screens[name] for name in screens if name in addresses.OF_EACH_KIND}


@in_all_looks
def test_no_screen_of_the_desk_has_a_fault(context: BrowserContext, looks: Sequence[Looks]) -> None:
    let_in(context, fill())
    left_out = addresses.ALIKE if looks is IN_TURN else frozenset[str]()
    assert all_faults(context, without(addresses.desk(), left_out), looks) == {}


@in_all_looks
def test_no_page_of_other_users_and_no_answer_to_a_form_has_a_fault(
    context: BrowserContext, looks: Sequence[Looks]
) -> None:
    admin, found = fill(), dict[str, list[str]]()
    found |= all_faults(context, {**addresses.readers(), **addresses.forgotten()}, looks, gone={"retracted"})
    for name, screens in addresses.of_others().items():
        let_in(context, User.objects.get(username=name))
        found |= all_faults(context, screens, looks)
    let_in(context, admin)
    assert found | answers_to_forms(context.new_page(), looks) == {}


def answers_to_forms(page: Page, looks: Sequence[Looks]) -> dict[str, list[str]]:
    """What axe finds on pages without an address of their own."""
    screens, turns = addresses.desk(), cycle(looks)
    page.goto(screens["article-published"])
    page.get_by_label("More", exact=True).click()
    page.get_by_role("button", name="Unpublish…").click()
    page.get_by_role("heading", name="Unpublish:").wait_for()
    found = faults_here(page, "confirmation", next(turns))
    page.goto(screens["review-own"])
    page.get_by_text("Override as administrator").click()
    page.get_by_role("button", name="Approve as administrator").click()
    page.get_by_text("Confirm the override.").wait_for()
    found |= faults_here(page, "override-refused", next(turns))
    page.goto(screens["token-new"])
    page.get_by_label("Name").fill("Probe")
    page.get_by_role("checkbox").first.check()
    page.get_by_role("button", name="Save").click()
    page.get_by_text("Copy the token now").wait_for()
    return found | faults_here(page, "token-issued", next(turns))
