"""The dashboard: upcoming, at risk, needs attention and in review."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from playwright.sync_api import Page, expect

from articles import publishing, releases
from articles.models import Article, SoftLock, State
from articles.roles import Role
from articles.task_types import RELEASE
from scheduling.database import read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog, WorkerHeartbeat
from scheduling.services import add_task
from tests.articles.browsers import look_again, sign_in
from tests.articles.factories import (
    APPROVED,
    EARLY,
    approve,
    make_article,
    make_editor,
    make_member,
    make_release,
    make_user,
    soon,
)
from tests.articles.situations import SITUATIONS, Situation, failing_release, run_worker, with_and_without_worker
from tests.conftest import StartManage

pytestmark = pytest.mark.django_db

Status = Article.Status
START = "/admin/"
MOST_QUERIES = 45  # of the whole page, sidebar and session included


def page_of(user: User) -> str:
    return opened_by(user).get(START).text


def opened_by(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def worker_seen(seconds_ago: float, queue: str = "redis") -> None:
    now = read_database_clock()
    seen = now - timedelta(seconds=seconds_ago)
    WorkerHeartbeat.objects.create(name="here:1", started_at=seen, seen_at=seen, queue=queue)


def failed_task(article: Article) -> TaskInfoLog:
    task = TaskInfo.objects.get(key=str(article.pk))
    TaskInfoLog.objects.filter(pk=task.pk).update(status=TaskInfoLog.Status.FAILED, error="Boom\nValueError: no disk")
    TaskInfo.objects.filter(pk=task.pk).delete()
    return TaskInfoLog.objects.get(pk=task.pk)


def test_what_goes_out_next_comes_in_the_order_of_its_time() -> None:
    make_article("Third", status=APPROVED, publish_at=soon(hours=1), embargo_until=soon(hours=9))
    make_article("Second", status=APPROVED, publish_at=soon(hours=5))
    make_article("First", status=Status.PUBLISHED, publish_at=soon(hours=-1), unpublish_at=soon(hours=2))
    make_article("Not approved", publish_at=soon(hours=3))
    coming = opened_by(make_editor()).get(START).context["up_next"]
    assert [str(one.subject) for one in coming] == ["First", "Second", "Third"]
    assert str(coming[0].kind) == "Unpublish"


def test_the_page_names_the_zone_of_its_times() -> None:
    assert "Times in UTC" in page_of(make_editor())


def test_what_the_clock_shows_is_on_time_whenever_a_worker_records_it() -> None:
    due = soon(minutes=-5)
    make_article("Recorded", status=Status.PUBLISHED, publish_at=due, published_at=due)
    make_article("Not recorded", status=APPROVED, publish_at=due, cleared_at=EARLY)
    shown = opened_by(make_editor()).get(START).context["recently_published"]
    assert [(one.title, one.at) for one in shown] == [("Not recorded", due), ("Recorded", due)]


def test_what_was_approved_late_stands_where_readers_got_it() -> None:
    for minutes in range(1, 7):
        make_article(f"{minutes} min ago", status=APPROVED, publish_at=soon(minutes=-minutes), cleared_at=EARLY)
    late = make_article("Late", status=Status.MANUAL_REVIEW, publish_at=soon(hours=-5))
    approve(late)
    shown = opened_by(make_editor()).get(START).context["recently_published"]
    assert [one.title for one in shown] == ["Late", *(f"{minutes} min ago" for minutes in range(1, 5))]


@pytest.mark.parametrize("build", ["update", "member"])
def test_an_update_and_a_release_have_the_time_from_which_readers_saw_them(build: str) -> None:
    made = SITUATIONS[build](soon(minutes=-3))
    run_worker()
    (shown, *_others) = opened_by(make_editor()).get(START).context["recently_published"]
    assert (shown.article, shown.at) == (made.article, made.at)
    assert shown.title == (made.headline_after or made.article.title)


@pytest.mark.cases(11)
@pytest.mark.parametrize("build", SITUATIONS.values(), ids=SITUATIONS)
@with_and_without_worker
@pytest.mark.parametrize("seconds", [60, -10], ids=["before", "after"])
def test_attention_is_drawn_to_what_readers_miss_and_to_nothing_else(
    build: Callable[[datetime], Situation], has_run: bool, seconds: int
) -> None:
    made = build(soon(seconds=seconds))
    if has_run:
        run_worker()
    shown = opened_by(make_editor()).get(START).context
    assert bool(shown["overdue"].items) == made.is_missed(shown_at(shown))
    coming = {str(one.subject) for one in shown["up_next"]}
    assert bool(coming) == (made.is_ready and shown_at(shown) < made.at)
    expected = made.expected(shown_at(shown))
    listed = {one.article for one in shown["recently_published"]}
    assert listed == ({made.article} if expected is State.LIVE else set())


def shown_at(context: Any) -> datetime:
    return datetime.fromtimestamp(context["now"] / 1000, UTC)


def test_a_missed_time_and_one_that_will_be_missed_are_shown_apart() -> None:
    make_article("Too late", publish_at=soon(hours=-1))
    make_article("Nobody noted", status=APPROVED, publish_at=soon(minutes=-1), cleared_at=EARLY)
    make_article("Hurry", publish_at=soon(hours=2))
    make_article("Plenty of time", publish_at=soon(hours=30))
    shown = opened_by(make_editor()).get(START).context
    assert [item.title for item in shown["overdue"].items] == ["Too late"]
    assert [risk.title for risk in shown["at_risk"]] == ["Hurry"]


def test_newer_texts_and_releases_that_would_not_go_out_are_at_risk_too() -> None:
    editor, out = make_editor(), {"status": Status.PUBLISHED, "publish_at": soon(hours=-1)}
    make_article("Draft", publish_at=soon(hours=3), author=make_user("bob"))
    for title, pending_update in (("Old", "Hoped for"), ("Out", "Approved")):
        article = make_article(title, **out)
        publishing.edit(article, by=editor, changes={"title": pending_update})
        publishing.submit(article, by=editor)
        if pending_update == "Approved":
            approve(article)
        publishing.schedule_update(article, publish_at=soon(hours=2), by=editor)
    for name, member in (("Lame", make_article("Unready")), ("Ready", make_article("Fine", status=APPROVED))):
        release = make_release(member, by=editor, name=name)
        releases.schedule_release(release, publish_at=soon(hours=1), by=editor)
    page = opened_by(editor).get(START)
    assert [(risk.title, risk.kind) for risk in page.context["at_risk"]] == [
        ("Lame", "Release"), ("Hoped for", "Update"), ("Draft", ""),
    ]  # fmt: skip
    assert "1 blocking issue" in page.text
    assert "Hoped for" in opened_by(editor).get("/admin/articles/article/?concern=at_risk").text


def test_a_reviewer_reads_first_what_he_claimed_and_last_what_others_did() -> None:
    reviewer, other = make_member(Role.REVIEWER), make_member(Role.REVIEWER, "other")
    others, free, locked, own = (
        make_article(title, status=Status.MANUAL_REVIEW) for title in ("Others", "Free", "Claimed", "Own")
    )
    Article.objects.filter(pk=own.pk).update(author=reviewer)
    SoftLock.objects.create(article=others, user=other, locked_at=soon())
    SoftLock.objects.create(article=locked, user=reviewer, locked_at=soon())
    found = opened_by(reviewer).get(START).context["in_review"]
    assert [article.title for article in found.articles] == ["Claimed", "Free", "Others"]
    assert free in found.articles


def test_an_author_sees_his_drafts_and_what_of_his_is_reviewed() -> None:
    author = make_member(Role.AUTHOR)
    make_article("Mine", author=author)
    make_article("Rejected", author=author, status=Status.REJECTED, status_reason="Names a minor.")
    make_article("Theirs")
    make_article("Read by somebody", author=author, status=Status.MANUAL_REVIEW)
    shown = opened_by(author).get(START)
    assert {article.title for article in shown.context["drafts"].articles} == {"Mine", "Rejected"}
    assert [article.title for article in shown.context["in_review"].articles] == ["Read by somebody"]
    assert "Names a minor." in shown.text


def test_an_author_is_shown_of_his_own_overdue_articles_alone() -> None:
    author = make_member(Role.AUTHOR)
    make_article("Mine", author=author, publish_at=soon(hours=-1))
    make_article("Theirs", publish_at=soon(hours=-1))
    assert [one.title for one in opened_by(author).get(START).context["overdue"].items] == ["Mine"]


def test_a_failed_task_is_named_and_retried_by_an_operator_alone() -> None:
    task = failed_task(make_article("Harbour bridge reopens", status=APPROVED, publish_at=soon(hours=1)))
    publisher, operator = make_member(Role.PUBLISHER), make_member(Role.OPERATOR)
    address = f"/admin/desk/start/retry/{task.pk}/"
    assert "Publication: “Harbour bridge reopens”" in page_of(publisher)
    assert "Retry" not in page_of(publisher)
    assert opened_by(publisher).post(address).status_code == 403
    assert "ValueError: no disk" in page_of(operator)
    response = opened_by(operator).post(address, follow=True)
    assert "The task will be retried." in response.text
    assert TaskInfo.objects.filter(pk=task.pk).exists()


def test_a_task_that_cannot_be_retried_says_why() -> None:
    task = add_task("x.y", execute_time=soon(hours=1), parameters={})
    response = opened_by(make_member(Role.OPERATOR)).post(f"/admin/desk/start/retry/{task.pk}/", follow=True)
    assert [str(message.level_tag) for message in response.context["messages"]] == ["error"]


def test_a_living_worker_is_reported_in_plain_words() -> None:
    worker_seen(2.5)
    assert re.search(r"Publishing service: OK\. Last heartbeat \d+ seconds? ago\.", page_of(make_editor()))


def test_without_a_worker_operators_are_shown_how_to_start_one_and_others_whom_to_show() -> None:
    worker_seen(300)
    operator, author = page_of(make_member(Role.OPERATOR)), page_of(make_member(Role.AUTHOR))
    for page in (operator, author):
        assert "No worker is running." in page and "Last heartbeat 5 minutes ago." in page
    assert "manage.py poll --forever" in operator
    assert "Contact the server administrator." in author
    assert "manage.py" not in author


def test_the_banner_names_what_waits_and_claims_no_more() -> None:
    for build in ("update", "unapproved_update", "updated_member", "member", "article"):
        SITUATIONS[build](soon(minutes=-1))
    assert "readers do not have" not in page_of(make_editor("first"))
    failing_release(soon(minutes=-1))
    shown = page_of(make_editor())
    assert "1 release has blocking issues; readers do not have it." in shown
    assert "articles, updates and releases still go live on time, but notifications and other follow-ups wait" in shown
    run_worker()
    WorkerHeartbeat.objects.all().delete()
    assert "readers do not have" not in page_of(make_editor("other"))


def test_overdue_articles_are_reported_though_a_worker_counts_as_running() -> None:
    worker_seen(13)
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    TaskInfo.objects.filter(key=str(article.pk)).update(execute_time=soon(seconds=-8))
    operator, author = page_of(make_member(Role.OPERATOR)), page_of(make_member(Role.AUTHOR))
    for page in (operator, author):
        assert "Overdue tasks: 1." in page and re.search(r"Last heartbeat \d+ seconds ago\.", page)
    assert "tasks list --status overdue" in operator and "manage.py" not in author


def test_workers_that_do_not_reach_redis_are_noticed(settings: object) -> None:
    settings.SCHEDULING_REDIS_URL = "redis://127.0.0.1:1/0"  # type: ignore[attr-defined]
    worker_seen(1, queue="database")
    assert "A worker works without Redis." in page_of(make_editor())


def test_overdue_articles_are_reported_while_redis_is_away_too(settings: object) -> None:
    settings.SCHEDULING_REDIS_URL = "redis://127.0.0.1:1/0"  # type: ignore[attr-defined]
    worker_seen(1, queue="database")
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    TaskInfo.objects.filter(key=str(article.pk)).update(execute_time=soon(seconds=-8))
    page = page_of(make_editor())
    assert "A worker works without Redis." in page and "Overdue tasks: 1." in page


def test_how_late_the_day_was_is_drawn_and_shown_in_a_table() -> None:
    for late in (4, 9, 1500):
        article = make_article(status=APPROVED, publish_at=soon(hours=1))
        log = TaskInfoLog.objects.filter(key=str(article.pk))
        log.update(status=1, updated_at=soon(minutes=-1), lateness=timedelta(milliseconds=late))
    cache.clear()
    shown = page_of(make_editor())
    assert "3 published in the last 24 hours: median delay 9 ms" in shown
    assert "maximum 1.5 s" in shown
    assert shown.count('class="chart-median"') == 1
    assert "<td>1.5 s</td>" in shown


def test_a_late_release_counts_in_the_punctuality_of_the_day() -> None:
    release = make_release(make_article(status=APPROVED), by=make_editor("irene"))
    releases.schedule_release(release, publish_at=soon(hours=1), by=make_editor("ivan"))
    log = TaskInfoLog.objects.filter(task_type=RELEASE)
    log.update(status=1, updated_at=soon(minutes=-1), lateness=timedelta(seconds=4))
    cache.clear()
    assert "1 published in the last 24 hours: median delay 4 s" in page_of(make_editor())


def test_what_was_not_measured_is_said_so_and_is_not_drawn() -> None:
    for late in (None, timedelta(milliseconds=9)):
        article = make_article(status=APPROVED, publish_at=soon(hours=1))
        log = TaskInfoLog.objects.filter(key=str(article.pk))
        log.update(status=1, updated_at=soon(minutes=-1), lateness=late)
        cache.clear()
        shown = page_of(make_editor(str(late)))
        assert "The delay of 1 was not measured." in shown
        assert shown.count('class="chart-median"') == (late is not None)
    assert "2 published in the last 24 hours: median delay 9 ms" in shown


def test_who_may_not_read_articles_sees_none() -> None:
    make_article("Secret", status=APPROVED, publish_at=soon(hours=1))
    shown = page_of(make_user("stranger"))
    assert "Secret" not in shown
    assert "No worker is running." in shown


@pytest.mark.thorough
def test_the_page_is_as_cheap_with_very_many_scheduled_articles() -> None:
    client, start = opened_by(make_user("admin", is_superuser=True)), soon(hours=1)
    article = Article(title="One of many", status=APPROVED)
    few = queries_of(client)
    Article.objects.bulk_create(
        Article(title=article.title, status=APPROVED, publish_at=start + timedelta(minutes=number))
        for number in range(2000)
    )
    assert queries_of(client) <= few + 2  # the first time there is a first page
    assert few <= MOST_QUERIES


def queries_of(client: Client) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        client.get(START)
    return len(queries)


def test_the_inside_needs_a_log_in() -> None:
    assert "login" in Client().get("/admin/desk/start/").headers["Location"]


@pytest.mark.django_db(transaction=True)
def test_the_open_page_counts_down_and_shows_what_went_live_without_losing_the_focus(
    page: Page, start_manage: StartManage
) -> None:
    """R1.15"""
    make_user("alice", is_superuser=True)
    article = make_article("Ferry strike called off", status=APPROVED)
    make_article("Later", status=APPROVED, publish_at=soon(hours=3, minutes=30))
    start_manage("poll", "--forever")
    sign_in(page)
    page.goto("/admin/")
    expect(page.get_by_role("heading", name="Up next")).to_be_visible()
    expect(page.locator("#dashboard-up-next").get_by_text("3 h 2")).to_be_visible()
    later = page.get_by_role("link", name="Later")
    later.focus()
    publishing.schedule(article, publish_at=soon(minutes=30), by=User.objects.get())
    look_again(page)
    expect(page.locator("#dashboard-up-next").get_by_role("link", name="Ferry strike called off")).to_be_visible()
    publishing.schedule(article, publish_at=soon(seconds=2), by=User.objects.get())
    expect(
        page.locator("#dashboard-recently-published").get_by_role("link", name="Ferry strike called off")
    ).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="Now live: Ferry strike called off")).to_have_count(1)
    expect(later).to_be_focused()
