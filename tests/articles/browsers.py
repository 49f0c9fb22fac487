"""Several users, each in a separate browser with a role, a language and a time zone."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import datetime
from typing import Any, Self
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, Route

from articles.models import Article, Preferences
from articles.roles import Role
from articles.workflow import TRANSITIONS, Transition
from scheduling.database import read_database_clock
from tests.articles.factories import make_member
from tests.conftest import Site
from tests.harness import HOST, PATIENCE, eventually

QUEUE, LIST = "/admin/articles/queuedarticle/", "/admin/articles/article/"
A_BIG_WINDOW: dict[str, Any] = {"viewport": {"width": 1440, "height": 1400}}
A_PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


class Newsroom:
    """Gives each user a browser, in the newsroom's language or another; a context manager."""

    def __init__(self, browser: Browser, site: Site, *, language: str = "en") -> None:
        self.language = language
        self._browser = browser
        self._site = site
        self._windows = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._windows.close()

    def reader(self, **options: Any) -> Page:
        """A reader's browser, on the front page."""
        page = self._open(locale=self.language, **options)
        page.goto("/")
        return page

    def member(self, role: Role, name: str, *, zone: str = "", language: str = "", is_phone: bool = False) -> Page:
        """A user of this role, signed in, in a big window or on a phone; the admin uses the user's preferences."""
        user = make_member(role, name)
        Preferences.objects.create(user=user, language=language or self.language, time_zone=zone)
        page = self._open(locale="en-US", **(A_PHONE if is_phone else A_BIG_WINDOW))
        sign_in(page, name)
        return page

    def _open(self, **options: Any) -> Page:
        context = self._browser.new_context(base_url=self._site.url, **options)
        context.set_default_timeout(PATIENCE * 1000)
        return self._windows.enter_context(context).new_page()


def sign_in(page: Page, name: str = "alice") -> None:
    """Give the browser a session of this user without using the slow log-in form."""
    client = Client()
    client.force_login(User.objects.get(username=name))
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": f"http://{HOST}"}])


def address_of(article: Article) -> str:
    """The URL of the article's form."""
    return f"{LIST}{article.pk}/change/"


def write(page: Page, body: str, **fields: str) -> None:
    """Replace the text of the open form."""
    for name, value in fields.items():
        page.locator(f"#article_form [name={name}]").fill(value)
    press_in_body(page, "Control+a")
    page.keyboard.insert_text(body)


def body_of(page: Page) -> Locator:
    """The editor of the body in the open form."""
    return page.locator("[role=textbox][aria-multiline=true]")


def press_in_body(page: Page, key: str) -> None:
    """Move the caret or select by a key. Just after it got the focus, the editor would set its own caret again."""
    body_of(page).focus()
    page.evaluate("() => new Promise(done => setTimeout(done, 40))")  # it waits half as long
    page.keyboard.press(key)


def press(button: Locator) -> None:
    """Click a link or button and wait for the next page."""
    with button.page.expect_navigation(wait_until="load"):
        button.click()


def reveal(button: Locator) -> Locator:
    """Open the menu that a button is in, if it is in one."""
    menu = button.locator("xpath=ancestor::details[not(@open)]")
    if menu.count():
        menu.locator("> summary").click()
    return button


def save(page: Page) -> None:
    """Save the open form and stay on it."""
    press(page.locator(".actions [name=_continue]"))


def save_and_close(page: Page) -> None:
    """Press the button that saves the open form and leads to the list."""
    reveal(page.locator("[name=_save]")).click()


def take(page: Page, transition: str) -> None:
    """Press the button of a transition, and that of its publish sheet or question."""
    sheet = page.locator(f"[name=sheet][value={transition}]")
    if sheet.count():
        reveal(sheet).click()
    press(reveal(page.locator(f"[name=_step_{transition}]")))
    if TRANSITIONS[Transition(transition)].confirmation:
        press(page.locator("#confirm button"))


def come_back(page: Page) -> None:
    """Simulate a return from another window, at which a page saves and looks for news at once."""
    page.evaluate("window.dispatchEvent(new Event('focus'))")


def look_again(page: Page) -> None:
    """Have an open page ask for news at once, as when it comes into sight again."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def hurry_requests(page: Page) -> None:
    """Give the requests of the next pages up after half a second instead of half a minute."""
    page.add_init_script(
        "{ const given = AbortSignal.timeout; AbortSignal.timeout = () => given.call(AbortSignal, 500); }"
    )


def hold(page: Page, address: str) -> list[Route]:
    """Hold the requests to addresses of this pattern back until `answer`, in the list that is returned."""
    held = list[Route]()
    page.route(address, lambda route: held.append(route))
    return held


def answer(page: Page, held: list[Route]) -> None:
    """Let the page have the answer to the last request that is held, and two frames to show it in."""
    route = last(page, held)
    with page.expect_response(lambda response: response.url == route.request.url) as response:
        route.continue_()
    response.value.finished()
    draw(page)


def last(page: Page, held: list[Route]) -> Route:
    """The last request that is held; it may have been heard of before it is."""

    def heard() -> list[Route]:
        draw(page)
        return held

    return eventually(heard, PATIENCE, "no request").pop()


def draw(page: Page) -> None:
    """Give the page two frames, in which it does what waits for one."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def set_time(page: Page, name: str, moment: datetime, zone: str) -> None:
    """Type a time, as a clock in `zone` shows it."""
    page.locator(f"input[name={name}]").fill(f"{moment.astimezone(ZoneInfo(zone)):%Y-%m-%dT%H:%M:%S}")


def approve(page: Page, title: str) -> None:
    """A reviewer finds the text in the queue, reads it and approves it."""
    page.goto(QUEUE)
    page.get_by_role("link", name=title, exact=True).click()
    page.locator("#decision [name=approve]").click()
    page.wait_for_url(f"**{QUEUE}")


def seen_at(place: Locator, *, timeout: float = PATIENCE) -> datetime:
    """The time, by the database's clock, at which the open page shows this text."""
    eventually(place.count, timeout, f"not seen: {place}")
    return read_database_clock()
