"""Scheduling and reading end to end, with a real browser, web server and worker."""

from __future__ import annotations

from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from articles.models import Article
from scheduling.models import TaskInfoLog
from tests.articles.factories import approve, make_article, make_channel, make_user, soon
from tests.conftest import Site, StartManage
from tests.harness import eventually

pytestmark = pytest.mark.django_db(transaction=True)

TITLE = "Harbour bridge reopens after eleven months"

# The reader's own page says when it showed the headline: a test that looks now and then could miss an early one.
NOTE_WHEN_SEEN = """
    (title) => new MutationObserver(() => {
        if (document.body.innerText.includes(title)) window.seenAt ??= Date.now();
    }).observe(document.body, { childList: true, subtree: true })
"""


def log_in(page: Page, name: str = "alice") -> None:
    page.goto("/admin/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill("secret")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: "login" not in address)


def test_an_article_scheduled_in_the_admin_appears_on_the_open_front_page_by_itself(
    page: Page, start_manage: StartManage
) -> None:
    """R1.15 R2.1"""
    make_user("alice", is_superuser=True)
    make_channel()
    start_manage("poll", "--forever")
    page.goto("/")
    expect(page.get_by_text("Nothing has been published yet")).to_be_visible()
    page.evaluate(NOTE_WHEN_SEEN, TITLE)
    reader, editor = page, page.context.new_page()

    log_in(editor)
    editor.goto("/admin/articles/article/add/")
    editor.get_by_label("Headline").fill(TITLE)
    editor.get_by_role("button", name="Submit for review").click()
    expect(editor.get_by_role("button", name="Submit for review")).to_have_count(0)
    eventually(lambda: Article.objects.filter(status=Article.Status.MANUAL_REVIEW).exists())
    approve(Article.objects.get())
    editor.goto(editor.url)
    due = soon(seconds=10).replace(microsecond=0)
    editor.get_by_label("Publish at", exact=True).fill(f"{due:%Y-%m-%dT%H:%M:%S}")
    editor.get_by_role("button", name="Schedule…").click()
    editor.get_by_role("button", name="Schedule for").click()
    expect(editor.get_by_text("Goes live on").first).to_be_visible()

    expect(reader.get_by_role("link", name=TITLE)).to_be_visible()
    assert reader.evaluate("window.seenAt") >= due.timestamp() * 1000
    article = eventually(lambda: Article.objects.filter(status=Article.Status.PUBLISHED).first())
    assert article is not None
    assert article.published_at is not None
    assert article.published_at >= due
    log = TaskInfoLog.objects.get(key=str(article.pk), status=TaskInfoLog.Status.EXECUTED)
    assert log.lateness is not None
    assert log.lateness >= timedelta()


@pytest.mark.thorough
def test_an_open_page_loses_an_article_that_is_unpublished(page: Page) -> None:
    """R5.5"""
    article = make_article(TITLE, status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    page.goto("/")
    expect(page.get_by_role("link", name=TITLE)).to_be_visible()
    article.status = Article.Status.UNPUBLISHED
    article.save()
    expect(page.get_by_role("link", name=TITLE)).to_have_count(0)


@pytest.mark.parametrize("width", [pytest.param(1440, marks=pytest.mark.thorough), 390])
def test_nothing_sticks_out_sideways(page: Page, width: int) -> None:
    long_words = "Donaudampfschifffahrtsgesellschaftskapitänsmütze " * 3
    article = make_article(
        long_words.strip()[:200],
        summary=long_words,
        body=f"<pre>{'x' * 300}</pre>{long_words * 9}",
        status=Article.Status.PUBLISHED,
        publish_at=soon(hours=-1),
        channel=make_channel(),
    )
    page.set_viewport_size({"width": width, "height": 800})
    for address in ("/", article.get_absolute_url(), "/channel/politics/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.thorough
def test_without_scripts_articles_are_written_and_many_are_submitted(browser: Browser, site: Site) -> None:
    make_user("alice", is_superuser=True)
    viewport: ViewportSize = {"width": 1440, "height": 900}
    with browser.new_context(base_url=site.url, java_script_enabled=False, viewport=viewport) as context:
        page = context.new_page()
        log_in(page)
        page.goto("/admin/articles/article/add/")
        page.get_by_label("Headline").fill(TITLE)
        page.get_by_label("Body").fill("<p>It is open.</p>")
        page.get_by_label("Other actions").click()
        page.get_by_role("button", name="Save and close").click()
        assert Article.objects.values_list("title", "body").get() == (TITLE, "<p>It is open.</p>")
        page.locator("input.action-select").check()
        page.locator("select[name=action]").select_option("submit")
        page.get_by_role("button", name="Run").click()
        page.get_by_role("button", name="Continue").click()

        assert Article.objects.get().status == Article.Status.MANUAL_REVIEW
