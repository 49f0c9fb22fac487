"""Content security: pages comply with their own policy, and injected scripts do not run.

All screens and readers' pages are opened by `test_accessibility` and `test_every_screen`, which record their violations
as console errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, expect

from articles.models import Article, Channel
from headline.content_security import players_hosts
from tests.articles.factories import make_article, make_editor, make_user, soon
from tests.articles.image_files import make_image, shown
from tests.conftest import Site
from tests.screens.test_accessibility import let_in

pytestmark = pytest.mark.django_db(transaction=True)

VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"


@pytest.fixture
def context(browser: Browser, site: Site) -> Iterator[BrowserContext]:
    with browser.new_context(base_url=site.url, locale="en-US", reduced_motion="reduce") as context:
        yield context


def violations(page: Page) -> list[str]:
    """A list to which the browser's policy violations are added."""
    found: list[str] = []
    page.on("console", lambda said: found.append(said.text) if "Content Security Policy" in said.text else None)
    return found


@pytest.mark.thorough
def test_players_and_images_are_allowed(context: BrowserContext) -> None:
    image = make_image(make_editor())
    article = make_article(
        "Harbour bridge reopens",
        body=f"{shown(image)}<p>{VIDEO}</p>",
        status=Article.Status.PUBLISHED,
        publish_at=soon(hours=-1),
        channel=Channel.objects.create(name="Town"),
    )
    page = context.new_page()
    said = violations(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.route("https://www.youtube-nocookie.com/**", lambda route: route.fulfill(body="<button>Play</button>"))
    page.goto(article.get_absolute_url(), wait_until="load")
    button = page.get_by_role("button", name="Load the video from YouTube")
    button.scroll_into_view_if_needed()
    assert [url for url in asked if "youtube" in url] == []
    button.focus()
    page.keyboard.press("Enter")
    frame = page.locator("figure.embed iframe")
    expect(frame).to_have_attribute("src", re.compile("youtube-nocookie"))
    expect(frame).to_be_focused()
    expect(frame).to_have_attribute("title", "YouTube")
    assert "https://www.youtube-nocookie.com" in players_hosts()
    assert page.locator("main picture img").evaluate(
        "async image => { await image.decode(); return image.naturalWidth }"
    )
    assert said == []


def test_the_editor_works_under_the_policy(context: BrowserContext) -> None:
    let_in(context, make_user("root", is_superuser=True))
    page = context.new_page()
    said = violations(page)
    page.goto("/admin/articles/article/add/")
    body = page.locator(".ProseMirror")
    body.click()
    page.keyboard.type("Written under a policy")
    expect(body).to_contain_text("Written under a policy")
    page.locator("[name=title]").fill("Policy")
    assert said == []


@pytest.mark.thorough
def test_the_page_of_the_api_is_drawn(context: BrowserContext) -> None:
    page = context.new_page()
    said = violations(page)
    page.goto("/api/docs/")
    expect(page.locator(".opblock").first).to_be_visible()
    assert said == []


@pytest.mark.cases(1)
@pytest.mark.parametrize("address", ["/", "/admin/login/"])
def test_a_script_that_breaks_in_is_not_run(context: BrowserContext, address: str) -> None:
    page = context.new_page()
    said = violations(page)
    page.goto(address)
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "document.title = 'broken in'";
            document.head.append(script);
            const image = document.createElement("img");
            image.setAttribute("onerror", "document.title = 'broken in'");
            image.src = "/nothing.png";
            document.body.append(image);
            const elsewhere = document.createElement("script");
            elsewhere.src = "https://evil.example/x.js";
            document.head.append(elsewhere);
        }"""
    )
    page.wait_for_timeout(200)
    assert page.title() != "broken in"
    assert len(said) >= 3


POLICIES = {
    "/": ("script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"),
    "/nothing/": ("script-src 'self'", "style-src 'self'"),
    "/feed/": ("default-src 'none'",),
    "/api/v1/articles/": ("default-src 'none'",),
    "/healthz": ("default-src 'none'",),
    "/admin/login/": ("script-src 'self' 'unsafe-eval'",),
    "/api/docs/": ("script-src 'self'",),
}


@pytest.mark.parametrize("address", POLICIES)
def test_every_answer_brings_its_policies(address: str) -> None:
    response: Any = Client().get(address)
    directives = response["Content-Security-Policy"].split("; ")
    assert set(POLICIES[address]) <= set(directives)
    if not address.startswith(("/admin/", "/api/docs/")):
        assert "unsafe" not in response["Content-Security-Policy"]
    assert "script-src 'self' 'unsafe-inline'" not in response["Content-Security-Policy"]
    assert "camera=()" in response["Permissions-Policy"]
    assert response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert response["X-Content-Type-Options"] == "nosniff"
