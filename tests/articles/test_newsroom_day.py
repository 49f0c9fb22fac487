"""A day in the newsroom, by people who each sit at a browser of their own, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from articles.models import Article, AuditEntry, Word
from articles.roles import Role
from tests.articles.factories import make_channel, soon
from tests.articles.newsroom import LIST, Newsroom, address_of, approve, seen_at, set_time, take, write
from tests.articles.test_calendar_on_screen import drag
from tests.conftest import Site, StartManage

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)
ZONES = ("Asia/Shanghai", "Pacific/Kiritimati", "Pacific/Pago_Pago")


@dataclass(frozen=True)
class Day:
    """What is written and what is read on the screens in one language."""

    language: str
    nothing: str
    title: str
    blocked: str
    sensitive: str
    body: str
    corrected: str
    correction: str
    statuses: tuple[str, str, str, str, str]
    told: tuple[str, str, str]


ENGLISH = Day(
    language="en",
    nothing="Nothing has been published yet.",
    title="Harbour bridge reopens",
    blocked="casino",
    sensitive="harbour",
    body="The first cars crossed the bridge this morning.",
    corrected="Harbour bridge reopens to cars",
    correction="Lorries have to wait until May.",
    statuses=("Rejected", "Needs a reviewer", "Approved by a person", "Published", "Withdrawn"),
    told=("Blocked words: “casino”", "Goes live on", "Readers no longer see it."),
)
CHINESE = Day(
    language="zh-hans",
    nothing="还没有发布任何文章。",
    title="港口大桥重新开放",
    blocked="赌场",
    sensitive="大桥",
    body="今天早上，第一批汽车驶过大桥。",
    corrected="港口大桥向小汽车重新开放",
    correction="货车须等到五月。",
    statuses=("已退稿", "待人工审核", "人工审核通过", "已发布", "已下架"),
    told=("被拦截的词语：“赌场”", "将于", "读者已看不到这篇文章。"),
)


@pytest.fixture(params=[ENGLISH, CHINESE], ids=lambda day: day.language)
def day(request: pytest.FixtureRequest) -> Day:
    found: Day = request.param
    return found


@pytest.fixture
def newsroom(browser: Browser, site: Site, day: Day, start_manage: StartManage) -> Iterator[Newsroom]:
    """With a worker, a channel and words to look out for."""
    make_channel()
    Word.objects.create(text=day.blocked, level=Word.Level.BLOCK)
    Word.objects.create(text=day.sensitive, level=Word.Level.REVIEW)
    start_manage("poll", "--forever")
    with Newsroom(browser, site, language=day.language) as room:
        yield room


def test_from_the_first_word_to_the_restored_article(newsroom: Newsroom, day: Day) -> None:
    """R1.15 R2.1 R5.1 R5.3 R5.5"""
    rejected, in_review, approved, published, withdrawn = day.statuses
    named, goes_live, gone = day.told
    reader = newsroom.reader()
    expect(reader.get_by_text(day.nothing)).to_be_visible()
    reader.evaluate("window.isTheSamePage = true")

    author = newsroom.member(Role.AUTHOR, "anna")
    author.goto(f"{LIST}add/")
    write(author, f"{day.body} {day.blocked}", title=day.title)
    take(author, "submit")
    expect(author.get_by_text(named).first).to_be_visible()
    expect(status_of(author)).to_contain_text(rejected)
    write(author, day.body)
    take(author, "submit")
    expect(status_of(author)).to_contain_text(in_review)

    reviewer = newsroom.member(Role.REVIEWER, "rita")
    approve(reviewer, day.title)

    publisher, zone = newsroom.member(Role.PUBLISHER, "paul", zone=zone_of_one_sheet()), zone_of_one_sheet()
    article = Article.objects.get()
    publisher.goto(address_of(article))
    expect(status_of(publisher)).to_contain_text(approved)
    due = in_seconds(10)
    set_time(publisher, "publish_at", due + DAY, zone)
    take(publisher, "schedule")
    expect(status_of(publisher)).to_contain_text(goes_live)
    publisher.goto("/admin/calendar/")
    drag(publisher, day.title, f"{due.astimezone(ZoneInfo(zone)):%Y-%m-%d}")
    expect(publisher.locator("#calendar [role=status].done")).to_contain_text(day.title)
    article.refresh_from_db()
    assert article.publish_at == due
    assert seen_at(reader.get_by_role("link", name=day.title, exact=True)) >= due
    article.refresh_from_db()

    editor = newsroom.member(Role.EDITOR, "edda")
    editor.goto(address_of(article))
    expect(status_of(editor)).to_contain_text(published)
    write(editor, f"{day.body} {day.correction}", title=day.corrected, correction=day.correction)
    take(editor, "submit")
    approve(reviewer, day.corrected)
    publisher.goto(address_of(article))
    due = in_seconds(5)
    set_time(publisher, "update_at", due, zone)
    take(publisher, "schedule_update")
    assert seen_at(reader.get_by_role("link", name=day.corrected, exact=True)) >= due

    take(publisher, "withdraw")
    expect(status_of(publisher)).to_contain_text(withdrawn)
    expect(publisher.locator("#standing")).to_have_text(gone)
    expect(reader.get_by_text(day.nothing)).to_be_visible()
    take(publisher, "restore")
    expect(reader.get_by_role("link", name=day.corrected, exact=True)).to_be_visible()
    assert reader.evaluate("window.isTheSamePage")
    reader.get_by_role("link", name=day.corrected, exact=True).click()
    expect(reader.locator(".corrections")).to_contain_text(day.correction)
    expect(reader.locator(".prose")).to_contain_text(day.body)
    assert list(AuditEntry.objects.of(article).values_list("user_name", "action")) == []


def status_of(page: Page) -> Page:
    """Where the article stands, on its form."""
    return page.locator(":has(> #standing)")


def in_seconds(number: int) -> datetime:
    """A full second that leaves a person time for what has to be done before."""
    return soon(seconds=number).replace(microsecond=0)


def zone_of_one_sheet() -> str:
    """A zone in whose calendar tomorrow stands on today's sheet: it is not the last day of the month there."""
    return next(zone for zone in ZONES if (soon().astimezone(ZoneInfo(zone)) + DAY).day != 1)
