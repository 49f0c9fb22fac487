"""A newsroom's day end to end: four users on desktop and phone, in English and Chinese, and what readers see."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Group, User
from playwright.sync_api import Browser, Locator, Page, expect

from articles.models import Article, AuditEntry, Image, Release, ReviewStage, SensitiveWord
from articles.review import StageChoice, choose_stages
from articles.roles import Role
from tests.articles.browsers import (
    LIST,
    QUEUE,
    Newsroom,
    address_of,
    body_of,
    press,
    reveal,
    seen_at,
    set_time,
    take,
    write,
)
from tests.articles.desk.editor.test_body import paste
from tests.articles.desk.notes.test_browser import select
from tests.articles.factories import APPROVED, make_article, make_channel, make_user, soon
from tests.articles.image_files import make_image
from tests.conftest import Site, StartManage
from tests.screens.test_accessibility import record_errors
from tests.screens.test_chinese import left_over, written

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

Status = Article.Status
DAY = timedelta(days=1)
ZONE = "Asia/Shanghai"

TITLE, SUMMARY, NEWER = "港口大桥重新开放", "今天早上八点起通车。", "快讯：港口大桥向小汽车开放"
SENTENCE, BLOCKED, CORRECTION = "今天早上，第一批汽车驶过大桥。", "赌场", "货车须等到五月。"
FROM_WORD = f"<p class=MsoNormal><span style='mso-x:1'>{SENTENCE}{BLOCKED}<o:p></o:p></span></p>"
QUESTION, FEEDBACK, ANSWER = "Which cars? @anna", "Say which cars.", "只有小汽车。"
NOTICE = "大桥并未开放。"
NOTHING = "Nothing has been published yet."

WHAT_HAPPENED = [
    *("anna create", "anna submit", "anna edit", "anna submit", "rita add_note", "rita reject"),
    *("anna reply", "anna edit", "anna submit", "rita passed_stage", "zhou approve"),
    *("zhou schedule", "zhou schedule", "zhou edit", "zhou edit", "zhou schedule", " published"),
    *("edda edit", "edda submit", "rita passed_stage", "zhou approve", "zhou publish_update"),
    *("zhou unpublish", "zhou republish", "zhou retract"),
]
"""User and action of each entry; the system has no name."""


@dataclass(frozen=True)
class Desk:
    """A user's browser; each screen that it opens is in the user's language."""

    page: Page
    language: str
    errors: list[str]  #: in the console, and texts in another language

    def open(self, address: str) -> Page:
        """Go to a screen and read it."""
        self.page.goto(address)
        return self.read()

    def read(self) -> Page:
        """Check the language of the open screen."""
        expect(self.page.locator("html")).to_have_attribute("lang", self.language)
        if self.language != "en":
            self.errors.extend(left_over(self.page.content(), written()))
        return self.page


@dataclass(frozen=True)
class Day:
    """The newsroom of this day: an author and a reviewer on phones, an editor and the editor-in-chief at desks."""

    anna: Desk
    rita: Desk
    edda: Desk
    zhou: Desk
    reader: Page

    @property
    def article(self) -> Article:
        """The day's article, as it is now."""
        return Article.objects.get(author__username="anna")

    def link(self, title: str) -> Locator:
        """The link to an article on the front page, which the reader never reloads."""
        return self.reader.get_by_role("link", name=title, exact=True)


@pytest.fixture
def day(browser: Browser, site: Site, start_manage: StartManage) -> Iterator[Day]:
    """Two review stages, a worker, and an open browser for each."""
    make_channel("要闻")
    SensitiveWord.objects.create(text=BLOCKED, level=SensitiveWord.Level.BLOCK)
    SensitiveWord.objects.create(text="大桥", level=SensitiveWord.Level.REVIEW)
    chief = Group.objects.get(name=Role.CHIEF.value)
    stages = [StageChoice(ReviewStage.Kind.FIRST), StageChoice(ReviewStage.Kind.FINAL, group=chief)]
    choose_stages(stages, by=make_user("root", is_superuser=True))
    start_manage("poll", "--forever")

    def desk(page: Page, language: str) -> Desk:
        return Desk(page, language, record_errors(page))

    with Newsroom(browser, site) as room:
        yield Day(
            anna=desk(room.member(Role.AUTHOR, "anna", zone=ZONE, language="zh-hans", is_phone=True), "zh-hans"),
            rita=desk(room.member(Role.REVIEWER, "rita", is_phone=True), "en"),
            edda=desk(room.member(Role.EDITOR, "edda"), "en"),
            zhou=desk(room.member(Role.CHIEF, "zhou", zone=ZONE, language="zh-hans"), "zh-hans"),
            reader=room.reader(),
        )


@pytest.mark.thorough
def test_a_day_from_the_first_word_to_the_retraction(day: Day) -> None:
    """R1.15 R2.1 R5.1 R5.3 R5.5"""
    expect(day.reader.get_by_text(NOTHING)).to_be_visible()
    day.reader.evaluate("window.isTheSamePage = true")
    write_on_a_phone(day)
    reject_with_a_note(day)
    answer_and_submit_again(day)
    approve_at_both_stages(day, TITLE)
    schedule_and_move_by_an_hour(day)
    hold_back_by_an_embargo(day)
    expect(day.link(TITLE)).to_have_count(0)
    due = pull_forward(day)
    assert seen_at(day.link(TITLE)) >= due
    publish_a_release(day)
    correct_the_live_text(day)
    approve_at_both_stages(day, NEWER)
    publish_the_update(day)
    expect(day.link(NEWER)).to_be_visible()
    unpublish_republish_and_retract(day)
    assert day.reader.evaluate("window.isTheSamePage")
    read_what_happened(day)
    assert [f"{name} {action}" for name, action in entries_of(day.article)] == WHAT_HAPPENED
    assert [desk.errors for desk in (day.anna, day.rita, day.edda, day.zhou)] == [[], [], [], []]


def write_on_a_phone(day: Day) -> None:
    """Paste a text from Word, choose and crop a cover, and submit until no word is blocked."""
    make_image(User.objects.get(username="anna"), "港口")
    page = day.anna.open(f"{LIST}add/")
    expect(page.locator("[name=title]")).to_have_attribute("placeholder", "标题")
    page.locator("[name=title]").fill(TITLE)
    page.locator("[name=summary]").fill(SUMMARY)
    paste(body_of(page), "text/html", f"<html xmlns:o='urn:schemas-microsoft-com:office:office'>{FROM_WORD}</html>")
    page.locator("#tab-publish").click()
    page.locator("[name=channel]").select_option(label="要闻")
    choose_a_cover(page)
    take(page, "submit")
    expect(state(page)).to_contain_text("已退回")
    expect(state(page)).to_contain_text(f"被拦截的词语：“{BLOCKED}”")
    assert day.article.body == f"<p>{SENTENCE}{BLOCKED}</p>"
    write(page, SENTENCE)
    take(page, "submit")
    expect(day.anna.read().locator("#stage")).to_have_text("待审核")


def choose_a_cover(page: Page) -> None:
    """Set the focal point in the dialog of the panel."""
    page.locator("#tab-cover").click()
    page.locator("[name=cover_mode]").select_option("one")
    page.locator("[data-pick]").click()
    page.get_by_role("dialog").get_by_alt_text("港口").click()
    page.locator(".cover-crop").click()
    dialog = page.locator("[data-crop]")
    dialog.locator("[data-focus] img").click(position={"x": 1, "y": 1})
    dialog.locator("[data-save]").click()
    expect(dialog).to_have_count(0)
    image = Image.objects.get()
    assert (image.focus_x, image.focus_y) < (5, 5)
    expect(page.locator(".cover-selected img")).to_have_attribute("style", re.compile(image.focus.replace("%", r"\%")))


def reject_with_a_note(day: Day) -> None:
    """Ask about a passage, by name."""
    page = day.rita.open(QUEUE)
    press(page.get_by_role("link", name=TITLE, exact=True))
    expect(page.locator("[data-notes-text] mark").first).to_have_text("大桥")
    select(page.locator("[data-notes-text]").last, "第一批汽车")
    page.locator("[data-note-select]").click()
    page.locator("#note-text").fill(QUESTION)
    page.get_by_role("button", name="Add note").click()
    expect(page.locator(".note-mention")).to_have_text("@anna")
    page.locator("#decision [name=reason]").fill(FEEDBACK)
    press(page.locator("#decision [name=reject]"))


def answer_and_submit_again(day: Day) -> None:
    """From the notification to the note and the corrected text."""
    page = day.anna.open("/admin/articles/notification/")
    expect(page.get_by_text(FEEDBACK)).to_be_visible()
    page = day.anna.open(address_of(day.article))
    expect(page.locator("#stage")).to_have_text("已退回")
    page.locator("#tab-notes").click()
    page.get_by_role("textbox", name="回复").fill(ANSWER)
    page.locator("#notes button[value^=reply]").click()
    expect(page.locator(".note-reply")).to_contain_text(ANSWER)
    write(page, SENTENCE.replace("汽车", "小汽车"))
    take(page, "submit")


def approve_at_both_stages(day: Day, title: str) -> None:
    """The first stage alone approves nothing, and its reviewer does not see the article again."""
    for desk in (day.rita, day.zhou):
        page = desk.open(QUEUE)
        press(page.get_by_role("link", name=title, exact=True))
        press(desk.read().locator("#decision [name=approve]"))
        if desk is day.rita:
            expect(page.get_by_role("main")).not_to_contain_text(title)
            expect(day.link(title)).to_have_count(0)


def schedule_and_move_by_an_hour(day: Day) -> None:
    """In the publish sheet for tomorrow, then on the board by an hour; the calendar shows it."""
    page = day.zhou.open(address_of(day.article))
    page.locator("[name=sheet][value=schedule]").click()
    page.locator("#sheet [data-preset=tomorrow]").click()
    expect(page.locator("#sheet .sheet-time")).to_contain_text("07:00")
    press(day.zhou.read().locator("#sheet [name=_step_schedule]"))
    seven = day.article.publish_at
    assert seven is not None
    page = day.zhou.open("/admin/desk/monitoring/")
    page.get_by_label(f"《{TITLE}》的操作").click()
    press(page.locator("#board-scheduled").get_by_role("button", name="推迟 1 小时"))
    assert day.article.publish_at == seven + timedelta(hours=1)
    expect(page.locator("#board-scheduled time")).to_contain_text("08:00")
    page = day.zhou.open(f"/admin/calendar/?view=day&date={seven.astimezone(ZoneInfo(ZONE)):%Y-%m-%d}")
    expect(page.locator(".entry", has_text=TITLE)).to_contain_text("08:00")


def hold_back_by_an_embargo(day: Day) -> None:
    """Under embargo the article cannot be published."""
    page = day.zhou.open(address_of(day.article))
    set_time(page, "embargo_until", soon().replace(microsecond=0) + 2 * DAY, ZONE)
    press(page.locator(".actions [name=_continue]"))
    press(reveal(page.locator("[name=_step_publish_now]")))
    expect(day.zhou.read().get_by_role("alert")).to_contain_text("请先解除禁发")


def pull_forward(day: Day) -> datetime:
    """Lift the embargo, and give a time a few seconds ahead."""
    page = day.zhou.open(address_of(day.article))
    due = in_seconds(6)
    page.locator("input[name=embargo_until]").fill("")
    set_time(page, "publish_at", due, ZONE)
    press(page.locator("[name=_step_schedule]"))
    return due


def publish_a_release(day: Day) -> None:
    """Three articles from the list go live together: readers see none of them or all."""
    for number in range(3):
        make_article(f"Budget, part {number}", author=User.objects.get(username="edda"), status=APPROVED)
    page = day.zhou.open(f"{LIST}?q=Budget")
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").first.select_option("add_to_release")
    press(page.locator("[name=index]").first)
    page.locator("#content [name=name]").fill("预算日")
    press(page.locator("#content form .desk-main"))
    set_time(day.zhou.read(), "publish_at", in_seconds(5), ZONE)
    press(page.locator("form[action$='/schedule/'] .desk-main"))
    parts = day.reader.get_by_role("link", name="Budget, part")
    expect(parts).to_have_count(3)
    release = Release.objects.get()
    assert {article.published_at for article in Article.objects.filter(title__startswith="Budget")} == {
        release.published_at
    }


def correct_the_live_text(day: Day) -> None:
    """Find the article by keyboard; until the update is approved, readers see the old text."""
    page = day.edda.open("/admin/")
    page.keyboard.press("Control+k")
    palette = page.get_by_role("dialog", name="Search and commands")
    expect(palette.get_by_role("combobox")).to_be_focused()
    page.keyboard.insert_text("大桥")
    expect(palette.get_by_role("option", name=TITLE)).to_have_attribute("aria-selected", "true")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    write(day.edda.read(), f"{SENTENCE}{CORRECTION}", title=NEWER, correction=CORRECTION)
    take(page, "submit")
    expect(day.link(NEWER)).to_have_count(0)


def publish_the_update(day: Day) -> None:
    day.zhou.open(address_of(day.article))
    take(day.zhou.page, "publish_update")


def unpublish_republish_and_retract(day: Day) -> None:
    """Each is seen by the reader at once."""
    page = day.zhou.page
    take(page, "unpublish")
    expect(day.zhou.read().locator("#stage")).to_have_text("已下架")
    expect(day.link(NEWER)).to_have_count(0)
    take(page, "republish")
    expect(day.link(NEWER)).to_be_visible()
    other = day.reader.context.new_page()
    other.goto(day.article.get_absolute_url())
    expect(other.locator(".corrections")).to_contain_text(CORRECTION)
    page.get_by_label("更多", exact=True).click()
    press(page.locator("[name=_step_retract]"))
    page.locator("[name=reason]").fill(NOTICE)
    press(day.zhou.read().locator("#confirm button"))
    expect(day.link(NEWER)).to_have_count(0)
    other.reload()
    expect(other.get_by_role("heading", name="This article has been retracted")).to_be_visible()
    expect(other.get_by_text(NOTICE)).to_be_visible()
    expect(other.locator(".prose")).not_to_contain_text(SENTENCE)
    other.close()


def read_what_happened(day: Day) -> None:
    """The author is notified in Chinese; the editor's board shows in English what is live."""
    page = day.anna.open("/admin/articles/notification/")
    expect(page.locator("#result_list")).to_contain_text("已发布")
    page = day.edda.open("/admin/desk/monitoring/")
    expect(page.locator("#board-live h3")).to_have_text([f"Budget, part {number}" for number in range(3)])


def state(page: Page) -> Locator:
    """The state of the article, as its form shows it."""
    return page.locator(":has(> #state)")


def in_seconds(number: int) -> datetime:
    """A full second far enough ahead for the steps before it."""
    return soon(seconds=number).astimezone(UTC).replace(microsecond=0)


def entries_of(article: Article) -> list[tuple[str, str]]:
    """User and action of the audit log's entries, in order."""
    return list(AuditEntry.objects.of(article).order_by("pk").values_list("user_name", "action"))
