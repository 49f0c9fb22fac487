"""The state of an article in its open form: it follows the clock, workers and other users."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client
from playwright.sync_api import Browser, Locator, Page, expect
from pytest_django import DjangoAssertNumQueries

from articles import publishing
from articles.models import Article, Update
from articles.releases import schedule_release
from articles.text import format_time_briefly
from tests.articles.browsers import body_of, come_back, press_in_body, save, sign_in
from tests.articles.desk.articles.test_admin import form_address, logged_in
from tests.articles.desk.editor.test_edit_conflict import go_live
from tests.articles.factories import (
    APPROVED,
    EARLY,
    approve,
    make_article,
    make_editor,
    make_release,
    make_user,
    soon,
)
from tests.conftest import Site, StartManage


def address_of(article: Article) -> str:
    return f"/admin/articles/article/{article.pk}/state/"


def followed(page: Any) -> dict[str, Any]:
    """What the script of a page gets."""
    found = re.search(r'<script id="follow" type="application/json">(.*?)</script>', page.text)
    assert found is not None
    answer: dict[str, Any] = json.loads(found[1])
    return answer


def scheduled(moment: datetime, title: str = "Bridge", **values: Any) -> Article:
    return make_article(title, status=APPROVED, body="<p>Open</p>", publish_at=moment, **values)


def live(title: str = "Bridge", **values: Any) -> Article:
    out = {"status": Article.Status.PUBLISHED, "publish_at": soon(hours=-1), "published_at": soon(hours=-1)}
    return make_article(title, body="<p>Open</p>", **{**out, **values})


def with_update(article: Article, moment: datetime, *, by: User) -> Article:
    """The article with an approved update, which goes live at this moment."""
    publishing.edit(article, by=by, changes={"title": "Newer"})
    publishing.schedule_update(article, publish_at=moment, by=by)
    publishing.submit(article, by=by)
    approve(article)
    return article


def spoken(page: Page) -> Locator:
    return page.get_by_role("status").filter(has_text=re.compile(r"went live at|Went live at|Unpublished at"))


# The endpoint


def test_the_page_knows_how_long_it_may_stay_as_it_is(db: None) -> None:
    desk, article = logged_in(make_editor()), scheduled(soon(seconds=100))
    found = followed(desk.get(form_address(article)))
    assert 90_000 < found["next"] < 101_000
    assert found["url"] == address_of(article)
    assert followed(desk.get(found["url"])) | {"next": 0} == found | {"next": 0}


@pytest.mark.parametrize(
    ("values", "within"),
    [
        ({"publish_at": None}, None),
        ({"embargo_until": timedelta(seconds=150)}, 150),
        ({"unpublish_at": timedelta(seconds=170), "status": Article.Status.PUBLISHED}, 170),
        ({"publish_at": timedelta(seconds=120), "status": Article.Status.DRAFT}, 120),
        ({"publish_at": timedelta(days=60)}, 60 * 24 * 3600),
    ],
)
def test_each_instant_of_an_article_is_a_change(db: None, values: dict[str, Any], within: int | None) -> None:
    times = {name: soon() + value if isinstance(value, timedelta) else value for name, value in values.items()}
    out: dict[str, Any] = {"status": APPROVED, "publish_at": soon(hours=-1), "published_at": soon(hours=-1), **times}
    article = make_article(**out)
    if within == 150:
        Article.objects.update(published_at=None)
    found = followed(logged_in(make_editor()).get(address_of(article)))["next"]
    if within is None:
        assert found is None
    else:
        assert found is not None
        assert 0 < within + 1 - found / 1000 < 20


def test_the_times_of_an_update_and_of_a_release_are_changes_too(db: None) -> None:
    editor = make_editor()
    updating = with_update(live(), soon(seconds=130), by=editor)
    member = make_article("Member", status=APPROVED)
    schedule_release(make_release(member, by=editor), publish_at=soon(seconds=140), by=editor)
    desk = logged_in(editor)
    assert 110_000 < followed(desk.get(address_of(updating)))["next"] < 131_000
    assert 120_000 < followed(desk.get(address_of(member)))["next"] < 141_000


def test_what_a_worker_has_to_do_is_asked_for_less_and_less_often(db: None) -> None:
    desk = logged_in(make_editor())
    article = scheduled(soon(seconds=-1), cleared_at=soon(hours=-1))
    assert 250 <= followed(desk.get(address_of(article)))["next"] < 15_000
    Article.objects.update(publish_at=soon(hours=-2), cleared_at=soon(hours=-3))
    assert followed(desk.get(address_of(article)))["next"] == 30_000
    publishing.unpublish(article, by=User.objects.get())
    assert followed(desk.get(address_of(article)))["next"] is None


def test_a_page_that_shows_the_same_gets_no_content(
    db: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    desk, article = logged_in(make_editor()), with_update(live(), soon(hours=1), by=make_editor("bob"))
    version = followed(desk.get(address_of(article)))["version"]
    with django_assert_max_num_queries(12):
        answer = desk.get(address_of(article), {"follow": version})
    assert (answer.status_code, answer.content) == (204, b"")
    assert 3_500_000 < int(answer.headers["Follow-Next"]) < 3_601_000
    go_live(article)
    with django_assert_max_num_queries(35):
        assert desk.get(address_of(article), {"follow": version}).status_code == 200


def test_the_version_comes_with_the_presence(db: None, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    desk, article = logged_in(make_editor()), scheduled(soon(hours=1))
    seen = followed(desk.get(address_of(article)))["version"]
    address = f"/admin/articles/article/{article.pk}/presence/{uuid4()}/"
    with django_assert_max_num_queries(20):
        assert desk.post(address).json()["version"] == seen
    publishing.unschedule(article, by=make_editor("bob"))
    assert desk.post(address).json()["version"] != seen


def test_the_state_is_for_those_who_may_open_the_form(db: None) -> None:
    article = scheduled(soon(hours=1))
    assert logged_in(make_user("bob")).get(address_of(article)).status_code == 403
    assert Client().get(address_of(article)).status_code == 302
    reader = logged_in(make_user("rose", "view_article"))
    page = reader.get(address_of(article))
    assert page.status_code == 200
    assert "_step_" not in page.text
    assert followed(page)["poll"], "who may not edit has no presence that brings the version"
    assert logged_in(make_editor()).get("/admin/articles/article/999999/state/").status_code == 404


# In a browser


@pytest.mark.django_db(transaction=True)
def test_an_open_form_learns_that_the_article_went_live(page: Page, start_manage: StartManage) -> None:
    make_editor()
    start_manage("poll", "--forever")
    sign_in(page)
    moment, article = typed_before(page, 6)
    expect(page.locator("#stage")).to_have_text("Published")
    expect(page.locator("#state")).to_have_text(re.compile(r"^Went live on [^.]*\.$"))
    expect(spoken(page)).to_have_text(f"Went live at {format_time_briefly(moment)}.")
    expect(page.locator("[name=_step_schedule]")).to_have_count(0)
    expect(page.locator("[name=_step_unpublish]")).to_have_count(1)
    expect(page.get_by_label("Headline")).to_be_focused()
    selection = page.get_by_label("Headline").evaluate(
        "field => [field.value, field.selectionStart, field.selectionEnd]"
    )
    assert selection == ["Bridge and", 2, 5]
    expect(body_of(page)).to_have_text("Open again")
    expect(page.locator("#id_publish_at_0_hint")).not_to_contain_text("choose a later one")
    expect(page.get_by_role("button", name="Tomorrow 07:00").first).to_be_hidden()
    save(page)
    assert Article.objects.get(pk=article.pk).update.draft.title == "Bridge and"  # type: ignore[union-attr]


def typed_before(page: Page, lead: float) -> tuple[datetime, Article]:
    """Type into the form of an article that goes live in `lead` seconds; on a busy machine in more, so as to be done.

    Returns that moment and the article.
    """
    moment = soon(seconds=lead).replace(microsecond=0)
    article = scheduled(moment)
    page.goto(form_address(article))
    press_in_body(page, "Control+End")
    page.keyboard.type(" again")
    page.get_by_label("Headline").fill("Bridge and")
    page.get_by_label("Headline").evaluate("field => field.setSelectionRange(2, 5)")
    return (moment, article) if page.locator("#stage").inner_text() == "Scheduled" else typed_before(page, 4 * lead)


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_without_a_worker_it_says_what_readers_see(page: Page) -> None:
    editor = make_editor()
    ending = live("Ending", unpublish_at=soon(hours=1))
    updating = with_update(live("Old"), soon(hours=1), by=editor)
    sign_in(page)
    other = page.context.new_page()
    page.goto(form_address(ending))
    other.goto(form_address(updating))
    expect(other.locator("#state-of-update")).to_have_count(1)
    moment = soon(seconds=4).replace(microsecond=0)
    Article.objects.filter(pk=ending.pk).update(unpublish_at=moment)
    Update.objects.update(publish_at=moment)
    for window in (page, other):
        come_back(window)
    expect(page.locator("#stage")).to_have_text("Unpublished")
    expect(page.locator("#state")).to_contain_text("No worker has recorded it yet.")
    expect(spoken(page)).to_have_text(f"Unpublished at {format_time_briefly(moment)}.")
    expect(page.locator("[name=_step_republish]")).to_have_count(1)
    other.bring_to_front()
    expect(other.locator("#state-of-update")).to_have_count(0)
    expect(spoken(other)).to_contain_text("The update went live at")


@pytest.mark.django_db(transaction=True)
def test_what_another_user_does_arrives_and_an_open_menu_stays_open(browser: Browser, site: Site) -> None:
    editor, article = make_editor(), scheduled(soon(hours=1))
    with browser.new_context(base_url=site.url, locale="en-US") as context:
        page = context.new_page()
        page.clock.install()
        sign_in(page)
        page.goto(form_address(article))
        see_what_another_does(page, article, editor)


def see_what_another_does(page: Page, article: Article, editor: User) -> None:
    """Each time, the presence that is sent every few seconds brings the news."""
    page.get_by_label("More", exact=True).click()
    page.get_by_role("link", name="Revisions").focus()
    publishing.unschedule(article, by=editor)
    page.clock.fast_forward(10_000)
    expect(page.locator("#stage")).to_have_text("Approved")
    expect(page.get_by_role("link", name="Revisions")).to_be_focused()
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_label("More", exact=True)).to_be_focused()
    page.locator("[name=sheet][value=schedule]").click()
    expect(page.locator("dialog#sheet")).to_be_visible()
    publishing.publish_now(article, by=editor)
    page.clock.fast_forward(10_000)
    expect(page.locator("#stage")).to_have_text("Published")
    expect(page.locator("dialog#sheet")).to_be_hidden()


@pytest.mark.django_db(transaction=True)
@pytest.mark.thorough
def test_a_page_without_connection_shows_the_state_as_soon_as_it_has_one(page: Page) -> None:
    make_editor()
    article = scheduled(soon(hours=1))
    sign_in(page)
    page.goto(form_address(article))
    page.context.set_offline(True)
    Article.objects.update(publish_at=soon(seconds=-1), cleared_at=EARLY)
    with page.expect_event("requestfailed", lambda request: "/state/" in request.url):
        come_back(page)
    expect(page.locator("#stage")).to_have_text("Scheduled")
    page.context.set_offline(False)
    expect(page.locator("#stage")).to_have_text("Published")


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_publish_sheet_that_is_open_learns_that_its_time_is_past(page: Page) -> None:
    make_editor()
    article = make_article("Bridge", status=APPROVED, body="<p>Open</p>")
    sign_in(page)
    page.goto(form_address(article))
    page.locator("[name=sheet][value=schedule]").click()
    sheet = page.locator("dialog#sheet")
    choose_in_sheet(sheet, soon(hours=1))
    expect(sheet.locator(".primary")).to_contain_text("Schedule for")
    choose_in_sheet(sheet, soon(seconds=4))  # not past before the sheet knows it
    expect(sheet.get_by_role("status")).to_contain_text("This time is past")
    expect(sheet.get_by_role("status")).to_contain_text("ago")
    expect(sheet.locator(".primary")).to_have_text("Schedule")
    assert not Article.objects.filter(publish_at__isnull=False).exists()


def choose_in_sheet(sheet: Locator, moment: datetime) -> None:
    sheet.locator("[data-sheet-time]").fill(f"{moment:%Y-%m-%dT%H:%M:%S}")
    sheet.locator("[data-sheet-time]").dispatch_event("change")


@pytest.mark.django_db(transaction=True)
def test_the_form_shows_its_state_without_a_script(browser: Browser, site: Site) -> None:
    make_editor()
    article = scheduled(soon(hours=1))
    with browser.new_context(base_url=site.url, java_script_enabled=False, locale="en-US") as context:
        page = context.new_page()
        sign_in(page)
        page.goto(form_address(article))
        expect(page.locator("#stage")).to_have_text("Scheduled")
        expect(page.locator("#state")).to_contain_text("Goes live on")
        expect(page.locator(".actions [name=_step_schedule]")).to_be_visible()
