"""A newsroom's day end to end: users of all roles in separate browsers, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from articles.models import Article, AuditEntry, SensitiveWord
from articles.roles import Role
from tests.articles.browsers import LIST, Newsroom, address_of, approve, seen_at, set_time, take, write
from tests.articles.desk.calendar.test_browser import drag
from tests.articles.factories import make_channel, soon
from tests.conftest import Site, StartManage

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

DAY = timedelta(days=1)
ZONES = ("Asia/Shanghai", "Pacific/Kiritimati", "Pacific/Pago_Pago")
WHAT_HAPPENED = [
    *("anna create", "anna submit", "anna edit", "anna submit", "rita approve"),
    *("paul schedule", "paul schedule", " published"),
    *("edda edit", "edda submit", "rita approve", "paul schedule_update", " updated"),
    *("paul unpublish", "paul republish"),
]
"""User and action of each entry; the system has no name."""


@dataclass(frozen=True)
class Day:
    """The texts that are typed and expected in one language."""

    language: str
    nothing: str
    title: str
    blocked: str
    sensitive: str
    body: str
    corrected: str
    correction: str
    rejected: str
    reason: str
    in_review: str
    approved: str
    published: str
    unpublished: str


ENGLISH = Day(
    language="en",
    nothing="Nothing has been published yet.",
    title="Harbour bridge reopens",
    blocked="casino",
    sensitive="harbour",
    body="The first cars crossed the bridge this morning.",
    corrected="Harbour bridge reopens to cars",
    correction="Lorries have to wait until May.",
    rejected="Rejected",
    reason="Blocked words: “casino”",
    in_review="Needs review",
    approved="Approved",
    published="Went live on",
    unpublished="Unpublished",
)
CHINESE = Day(
    language="zh-hans",
    nothing="还没有发布文章。",
    title="港口大桥重新开放",
    blocked="赌场",
    sensitive="大桥",
    body="今天早上，第一批汽车驶过大桥。",
    corrected="港口大桥向小汽车重新开放",
    correction="货车须等到五月。",
    rejected="已退回",
    reason="被拦截的词语：“赌场”",
    in_review="待审核",
    approved="已通过",
    published="已发布",
    unpublished="已下架",
)


@pytest.fixture(params=[ENGLISH, CHINESE], ids=lambda day: day.language)
def day(request: pytest.FixtureRequest) -> Day:
    found: Day = request.param
    return found


@pytest.fixture
def newsroom(browser: Browser, site: Site, day: Day, start_manage: StartManage) -> Iterator[Newsroom]:
    """With a worker, a channel and sensitive words."""
    make_channel()
    SensitiveWord.objects.create(text=day.blocked, level=SensitiveWord.Level.BLOCK)
    SensitiveWord.objects.create(text=day.sensitive, level=SensitiveWord.Level.REVIEW)
    start_manage("poll", "--forever")
    with Newsroom(browser, site, language=day.language) as room:
        yield room


def test_from_the_first_word_to_the_restored_article(newsroom: Newsroom, day: Day) -> None:
    """R1.15 R2.1 R5.1 R5.3 R5.5"""
    reader = newsroom.reader()
    expect(reader.get_by_text(day.nothing)).to_be_visible()
    reader.evaluate("window.isTheSamePage = true")
    first, second = (reader.get_by_role("link", name=title, exact=True) for title in (day.title, day.corrected))

    write_until_nothing_is_blocked(newsroom.member(Role.AUTHOR, "anna"), day)
    reviewer = newsroom.member(Role.REVIEWER, "rita")
    approve(reviewer, day.title)
    article, zone = Article.objects.get(), zone_of_one_sheet()
    publisher = newsroom.member(Role.PUBLISHER, "paul", zone=zone)
    due = schedule_and_pull_forward(publisher, article, zone, day)
    assert seen_at(first) >= due

    correct(newsroom.member(Role.EDITOR, "edda"), article, day)
    approve(reviewer, day.corrected)
    due = schedule_the_correction(publisher, article, zone)
    assert seen_at(second) >= due

    take(publisher, "unpublish")
    expect(state(publisher)).to_contain_text(day.unpublished)
    expect(reader.get_by_text(day.nothing)).to_be_visible()
    take(publisher, "republish")
    expect(second).to_be_visible()
    assert reader.evaluate("window.isTheSamePage")
    second.click()
    expect(reader.locator(".corrections")).to_contain_text(day.correction)
    assert transitions_of(article) == WHAT_HAPPENED


def write_until_nothing_is_blocked(author: Page, day: Day) -> None:
    """Submit a text, read which word is blocked, and correct it."""
    author.goto(f"{LIST}add/")
    write(author, f"{day.body} {day.blocked}", title=day.title)
    take(author, "submit")
    expect(state(author)).to_contain_text(day.rejected)
    expect(state(author)).to_contain_text(day.reason)
    write(author, day.body)
    take(author, "submit")
    expect(state(author)).to_contain_text(day.in_review)


def schedule_and_pull_forward(publisher: Page, article: Article, zone: str, day: Day) -> datetime:
    """Schedule an article for tomorrow, then drag it to today: in a month it keeps its time of day, to the second."""
    publisher.goto(address_of(article))
    expect(state(publisher)).to_contain_text(day.approved)
    due = in_seconds(8)
    set_time(publisher, "publish_at", due + DAY, zone)
    take(publisher, "schedule")
    publisher.goto("/admin/calendar/")
    drag(publisher, day.title, f"{due.astimezone(ZoneInfo(zone)):%Y-%m-%d}")
    expect(publisher.locator("#calendar [role=status].done")).to_contain_text(day.title)
    article.refresh_from_db()
    assert article.publish_at == due
    return due


def correct(editor: Page, article: Article, day: Day) -> None:
    """Edit the text and write a correction."""
    editor.goto(address_of(article))
    expect(state(editor)).to_contain_text(day.published)
    write(editor, f"{day.body} {day.correction}", title=day.corrected, correction=day.correction)
    take(editor, "submit")


def schedule_the_correction(publisher: Page, article: Article, zone: str) -> datetime:
    """Schedule the corrected text."""
    publisher.goto(address_of(article))
    due = in_seconds(3)
    set_time(publisher, "update_at", due, zone)
    take(publisher, "schedule_update")
    return due


def state(page: Page) -> Locator:
    """The state of the article, as its form shows it."""
    return page.locator(":has(> #standing)")


def in_seconds(number: int) -> datetime:
    """A full second far enough ahead for the steps before it."""
    return soon(seconds=number).replace(microsecond=0)


def zone_of_one_sheet() -> str:
    """A time zone in which today and tomorrow are on the same page of the calendar."""
    return next(zone for zone in ZONES if (soon().astimezone(ZoneInfo(zone)) + DAY).day != 1)


def transitions_of(article: Article) -> list[str]:
    """The actions in the audit log, in order."""
    entries = AuditEntry.objects.of(article).order_by("pk").values_list("user_name", "action")
    return [f"{name} {action}" for name, action in entries]
