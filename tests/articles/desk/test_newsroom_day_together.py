"""Concurrent work in browsers: many articles at one instant, and two users who edit one article."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.utils.html import strip_tags
from playwright.sync_api import Browser, Page, expect

from articles.models import Article, Release
from articles.roles import Role
from tests.articles.browsers import (
    LIST,
    Newsroom,
    address_of,
    approve,
    body_of,
    come_back,
    press,
    press_in_body,
    reveal,
    save,
    set_time,
)
from tests.articles.factories import APPROVED, make_article, make_user, soon
from tests.articles.releases.test_races import reader as reader_of_the_database
from tests.conftest import Site, StartManage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

Status = Article.Status


@pytest.fixture
def newsroom(browser: Browser, site: Site) -> Iterator[Newsroom]:
    with Newsroom(browser, site) as room:
        yield room


@pytest.mark.thorough
def test_of_a_release_of_20_readers_see_nothing_or_all(newsroom: Newsroom, start_manage: StartManage) -> None:
    writer = make_user("will")
    for number in range(19):
        make_article(f"Budget, part {number}", author=writer, status=APPROVED)
    make_article("Budget, part 19", author=writer, status=Status.MANUAL_REVIEW)
    start_manage("poll", "--forever")
    reader, publisher = newsroom.reader(), newsroom.member(Role.PUBLISHER, "paul")
    seen = reader.get_by_role("link", name="Budget, part")
    gather(publisher, "Budget day")
    expect(publisher.locator("#readiness")).to_contain_text("1 entry has blocking issues")

    with reader_of_the_database() as counts:
        schedule(publisher, seconds=3)
        expect(publisher.get_by_text("Why it failed")).to_be_visible()
    expect(publisher.locator(".release-bad").first).to_contain_text("Budget, part 19")
    assert set(counts) == {0}
    expect(seen).to_have_count(0)

    approve(newsroom.member(Role.REVIEWER, "rita"), "Budget, part 19")
    publisher.reload()
    expect(publisher.locator("#readiness")).to_contain_text("Ready to publish")
    with reader_of_the_database() as counts:
        schedule(publisher, seconds=3)
        expect(seen).to_have_count(20)
    assert set(counts) == {0, 20}
    expect(publisher.locator("#state")).to_contain_text("Published on")
    release = Release.objects.get()
    assert set(Article.objects.values_list("published_at", flat=True)) == {release.published_at}
    assert release.published_at
    assert release.publish_at
    assert release.published_at >= release.publish_at


def gather(page: Page, name: str) -> None:
    """Put all articles of the list into a new release."""
    page.goto(LIST)
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").first.select_option("add_to_release")
    press(page.locator("[name=index]").first)
    page.locator("#content [name=name]").fill(name)
    press(page.locator("#content form .desk-main"))


def schedule(page: Page, *, seconds: int) -> None:
    """Give the release on the page a time so far ahead."""
    set_time(page, "publish_at", soon(seconds=seconds).replace(microsecond=0), "UTC")
    press(page.locator("form[action$='/schedule/'] .desk-main"))
    expect(page.locator("#state")).to_contain_text("UTC")


@pytest.mark.thorough
def test_two_editors_of_one_article_lose_nothing(newsroom: Newsroom) -> None:
    article = make_article("Bridge opens", body="<p>The bridge is open.</p><p>Lorries wait.</p>")
    anna, bela = newsroom.member(Role.EDITOR, "anna"), newsroom.member(Role.EDITOR, "bela")
    anna.goto(address_of(article))
    bela.goto(address_of(article))
    expect(bela.locator("#presence")).to_contain_text("anna is also editing")
    come_back(anna)
    expect(anna.locator("#presence")).to_contain_text("bela is also editing")
    change(anna, "Bridge opens to cars", "Control+Home", "At last: ")
    change(bela, "Bridge opens at last", "Control+End", " Until May.")
    save(anna)
    come_back(bela)
    expect(bela.locator("#presence")).to_contain_text("anna has saved this article since you opened it")
    save(bela)

    question = bela.get_by_role("region", name="anna has saved this article since you opened it")
    headlines = question.get_by_role("group", name="Headline")
    expect(headlines).to_contain_text("to cars")
    expect(headlines).to_contain_text("at last")
    assert texts_of(article) == {
        ("Bridge opens", "The bridge is open. Lorries wait."),
        ("Bridge opens to cars", "At last: The bridge is open. Lorries wait."),
        ("Bridge opens at last", "The bridge is open. Lorries wait. Until May."),
    }
    headlines.locator("[value=theirs]").check()
    save(bela)
    expect(bela.locator("[name=title]")).to_have_value("Bridge opens to cars")
    expect(body_of(bela)).to_have_text("At last: The bridge is open.Lorries wait. Until May.")

    press(reveal(bela.locator("a[href$='/revisions/']").first))
    press(bela.get_by_role("row", name="at last").get_by_role("link"))
    press(bela.get_by_role("button", name="Restore this revision"))
    expect(bela.locator("[name=title]")).to_have_value("Bridge opens at last")
    assert ("Bridge opens to cars", "At last: The bridge is open. Lorries wait. Until May.") in texts_of(article)


def change(page: Page, title: str, key: str, words: str) -> None:
    """Change the headline, and write words at the beginning or end of the body, by this key."""
    page.locator("[name=title]").fill(title)
    press_in_body(page, key)
    page.keyboard.insert_text(words)


def texts_of(article: Article) -> set[tuple[str, str]]:
    """Headline and text of all revisions."""
    found = article.revisions.values_list("title", "body")
    return {(title, strip_tags(body.replace("</p><p>", " "))) for title, body in found}
