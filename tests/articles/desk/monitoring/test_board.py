"""The board: which article is in which column, filters, menus, and its cost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from articles import publishing, releases
from articles.models import Article, SoftLock, State, Update
from articles.roles import Role
from scheduling.database import read_database_clock
from tests.articles.factories import (
    APPROVED,
    make_article,
    make_channel,
    make_editor,
    make_member,
    make_release,
    make_user,
    soon,
)
from tests.articles.situations import SITUATIONS, Situation, failing_release, run_worker, with_and_without_worker

pytestmark = pytest.mark.django_db

Status = Article.Status
BOARD = "/admin/desk/monitoring/"


@pytest.fixture
def desk() -> Client:
    return opened_by(make_editor())


def opened_by(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def columns(client: Client, query: str = "") -> dict[str, list[str]]:
    lanes = client.get(f"{BOARD}{query}").context["lanes"]
    return {str(lane["column"].value): [card.title for card, _menu in lane["cards"]] for lane in lanes}


def cards_of(client: Client) -> dict[str, list[Any]]:
    lanes = client.get(BOARD).context["lanes"]
    return {str(lane["column"].value): [card for card, _menu in lane["cards"]] for lane in lanes}


def items(client: Client, title: str) -> dict[str, Any]:
    lanes = client.get(BOARD).context["lanes"]
    (menu,) = [menu for lane in lanes for card, menu in lane["cards"] if card.title == title]
    return {str(item.label): item for item in menu}


def post(client: Client, item: Any) -> Any:
    return client.post(item.address, {"seen": item.seen, "back": "desk_monitoring?channel=1"}, follow=True)


def test_every_article_is_in_the_column_of_its_status_by_the_clock(desk: Client) -> None:
    make_article("Draft")
    make_article("Rejected", status=Status.REJECTED)
    make_article("Automatic", status=Status.SUBMITTED)
    make_article("Waiting", status=Status.MANUAL_REVIEW, publish_at=soon(hours=1))
    make_article("Later", status=APPROVED, publish_at=soon(hours=2))
    make_article("Sooner", status=Status.MANUALLY_APPROVED, publish_at=soon(hours=1))
    make_article("Embargoed", status=APPROVED, publish_at=soon(hours=-1), embargo_until=soon(hours=3))
    make_article("Untimed", status=APPROVED)
    make_article("Just due", status=APPROVED, publish_at=soon(seconds=-5))
    make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    make_article("Old", status=Status.PUBLISHED, publish_at=soon(days=-8))
    make_article("Over", status=APPROVED, publish_at=soon(hours=-2), unpublish_at=soon(hours=-1))
    make_article("Unpublished", status=Status.UNPUBLISHED, publish_at=soon(hours=-2))
    assert columns(desk) == {
        "drafts": ["Rejected", "Draft"],
        "review": ["Waiting", "Automatic"],
        "scheduled": ["Untimed", "Sooner", "Later", "Embargoed"],
        "live": ["Just due", "Live"],
    }


@pytest.mark.cases(11)
@pytest.mark.parametrize("build", SITUATIONS.values(), ids=SITUATIONS)
@with_and_without_worker
@pytest.mark.parametrize("seconds", [60, -10], ids=["before", "after"])
def test_cards_follow_what_readers_see_and_what_they_miss_is_red(
    desk: Client, build: Callable[[datetime], Situation], has_run: bool, seconds: int
) -> None:
    made = build(soon(seconds=seconds))
    if has_run:
        run_worker()
    now = soon()
    shown = {(column, card.is_overdue) for column, cards in cards_of(desk).items() for card in cards}
    is_live = made.expected(now) is State.LIVE
    assert (("live", False) in shown) == is_live
    assert any(is_overdue for _column, is_overdue in shown) == made.is_missed(now)
    is_planned = made.after is not State.UNPUBLISHED or made.release is not None
    is_to_come = made.is_ready and is_planned and now < made.at
    assert (("scheduled", False) in shown) == is_to_come


def test_what_is_overdue_leads_its_column(desk: Client) -> None:
    for title in ("Next", "Later"):
        make_article(title, status=APPROVED, publish_at=soon(hours=1))
        make_article(f"{title} in review", status=Status.MANUAL_REVIEW, publish_at=soon(hours=1))
    make_article("Untimed", status=APPROVED)
    missed = failing_release(soon(minutes=-3))
    make_article("Missed in review", status=Status.MANUAL_REVIEW, publish_at=soon(minutes=-1))
    shown = columns(desk)
    assert shown["scheduled"][:2] == [str(missed), "Untimed"]
    assert shown["review"][0] == "Missed in review"
    page = desk.get(BOARD).text
    assert page.count("board-overdue") == page.count(">overdue<") == 3


def test_a_member_has_the_time_of_its_release(desk: Client) -> None:
    alice, due = User.objects.get(), soon(hours=3)
    unapproved = make_article("In review", status=Status.MANUAL_REVIEW)
    live = make_article("Bridge", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    Update.objects.create(article=live, approved=live.revisions.get())
    release = make_release(unapproved, live, by=alice)
    releases.schedule_release(release, publish_at=due, by=alice)
    cards = cards_of(desk)
    assert [card.at for card in cards["review"]] == [due]
    assert {card.title: card.at for card in cards["scheduled"]} == {"Bridge": due, "Budget day": due}


def test_updates_and_releases_have_cards_of_their_own(desk: Client) -> None:
    alice = User.objects.get()
    live = make_article("Bridge", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    publishing.edit(live, by=alice, changes={"title": "Bridge closed"})
    other = make_article("Ferry", status=Status.PUBLISHED, publish_at=soon(hours=-2))
    revision = other.revisions.get()
    Update.objects.create(article=other, approved=revision, publish_at=soon(hours=1))
    member = make_article("Budget", status=APPROVED)
    release = make_release(member, by=alice)
    assert columns(desk)["scheduled"] == ["Budget", "Ferry"]
    assert "Release: Budget day" in desk.get(BOARD).text
    releases.schedule_release(release, publish_at=soon(hours=2), by=alice)
    shown = columns(desk)
    assert (shown["drafts"], shown["live"]) == (["Bridge closed"], ["Bridge", "Ferry"])
    assert shown["scheduled"] == ["Ferry", "Budget day"]


def test_the_board_filters_by_channel_author_and_text(desk: Client) -> None:
    politics, me, bob = make_channel(), User.objects.get(), make_user("bob")
    make_article("Bridge", channel=politics, author=me, body="<p>cranes</p>")
    make_article("Ferry", author=bob)
    assert columns(desk, f"?channel={politics.pk}")["drafts"] == ["Bridge"]
    assert columns(desk, f"?author={bob.pk}")["drafts"] == ["Ferry"]
    assert columns(desk, "?author=me&q=crane")["drafts"] == ["Bridge"]
    page = desk.get(f"{BOARD}?author=me&q=bees&channel=-1&column=nowhere")
    assert "Nothing matches these filters." in page.text
    assert "?whose=mine&amp;q=bees" in page.text


def test_an_article_at_risk_and_one_that_is_claimed_are_marked(desk: Client) -> None:
    make_article("Hurry", publish_at=soon(hours=3))
    claimed = make_article("Claimed", status=Status.MANUAL_REVIEW)
    SoftLock.objects.create(article=claimed, user=make_user("bob"), locked_at=read_database_clock())
    page = desk.get(BOARD).text
    assert "at risk" in page
    assert "bob is reviewing it" in page


def test_an_hour_more_is_one_press_and_can_be_undone(desk: Client) -> None:
    due = soon(hours=1)
    article = make_article("Derby", status=APPROVED, publish_at=due)
    item = items(desk, "Derby")["+1 hour"]
    page = post(desk, item)
    assert page.redirect_chain[-1][0] == f"{BOARD}?channel=1"
    article.refresh_from_db()
    assert article.publish_at == due + timedelta(hours=1)
    assert "is rescheduled to" in page.text
    assert "has rescheduled" in post(desk, item).text  # it was seen at another time
    page = desk.post("/admin/calendar/undo/", {"back": "desk_monitoring?channel=1"})
    article.refresh_from_db()
    assert (article.publish_at, page.headers["Location"]) == (due, f"{BOARD}?channel=1")


def test_a_transition_of_the_menu_asks_what_the_workflow_asks(desk: Client) -> None:
    article = make_article("Derby", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    item = items(desk, "Derby")["Unpublish…"]
    page = post(desk, item)
    assert "Readers will no longer see it." in page.text
    article.refresh_from_db()
    assert article.status == Status.PUBLISHED
    page = desk.post(item.address, {"unpublish": "confirmed", "back": "desk_monitoring?channel=1"}, follow=True)
    article.refresh_from_db()
    assert article.status == Status.UNPUBLISHED
    assert page.redirect_chain[-1][0] == f"{BOARD}?channel=1"
    assert "is not possible" in desk.post(item.address, {"unpublish": "confirmed"}, follow=True).text


def test_a_menu_offers_what_the_user_may_do() -> None:
    make_article("Draft")
    make_article("Derby", status=APPROVED, publish_at=soon(hours=1))
    make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    alice = opened_by(make_editor())
    hour = ["+1 hour", "Reschedule…"]
    assert list(items(alice, "Draft")) == ["Preview", "Submit for review", "Duplicate"]
    assert list(items(alice, "Derby")) == ["Preview", *hour, "Unschedule", "Publish now…", "Duplicate"]
    assert list(items(alice, "Live")) == ["View on site", "Unpublish…", "Duplicate"]
    author = opened_by(make_member(Role.AUTHOR))
    assert list(items(author, "Draft")) == list(items(author, "Derby")) == ["Preview", "Duplicate"]
    publisher = opened_by(make_member(Role.PUBLISHER))
    assert list(items(publisher, "Derby")) == ["Preview", *hour, "Unschedule", "Publish now…"]


def test_writes_are_checked_on_the_server() -> None:
    due = soon(hours=1)
    article = make_article("Derby", status=APPROVED, publish_at=due)
    author = opened_by(make_member(Role.AUTHOR))
    author.post(f"{BOARD}publish_at:{article.pk}/later/", {"seen": due.isoformat()})
    author.post(f"{BOARD}{article.pk}/unschedule/", {"unschedule": "confirmed"})
    article.refresh_from_db()
    assert article.publish_at == due
    outsider = opened_by(make_user("outsider"))
    for address in (BOARD, f"{BOARD}content/"):
        assert outsider.get(address).status_code == HTTPStatus.FORBIDDEN
    for address in (f"{BOARD}publish_at:{article.pk}/later/", f"{BOARD}{article.pk}/unschedule/"):
        assert outsider.post(address, {"seen": due.isoformat()}).status_code == HTTPStatus.FORBIDDEN
    for address in (f"{BOARD}{article.pk}/retract/", f"{BOARD}{article.pk}/nothing/", f"{BOARD}x:1/later/"):
        assert author.post(address).status_code == HTTPStatus.NOT_FOUND


def test_a_release_is_not_named_to_users_who_may_not_see_it() -> None:
    release = make_release(make_article(status=APPROVED), by=make_editor(), name="Secret")
    releases.schedule_release(release, publish_at=soon(hours=1), by=User.objects.get())
    reader = opened_by(make_user("reader", "view_article"))
    assert "Secret" not in reader.get(BOARD).text
    page = reader.post(f"{BOARD}release:{release.pk}/later/", {"seen": soon().isoformat()}, follow=True)
    assert "Secret" not in page.text


def test_an_unchanged_board_is_not_sent_again(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    make_article("Draft")
    monkeypatch.setattr("articles.desk.monitoring.lanes.CLOCK_STEP", 10**9)
    seen = desk.get(BOARD).context["version"]
    assert desk.get(f"{BOARD}content/?seen={seen}").status_code == HTTPStatus.NO_CONTENT
    make_article("Another")
    assert "Another" in desk.get(f"{BOARD}content/?seen={seen}").text


def test_the_board_costs_the_same_statements_for_any_number_of_articles(
    desk: Client, django_assert_max_num_queries: Any
) -> None:
    def fill(number: int) -> None:
        for position in range(number):
            author, channel = make_user(f"{number}-{position}"), make_channel(f"{number}-{position}")
            common = {"author": author, "channel": channel}
            make_article("Draft", **common)
            make_article("Read", status=Status.MANUAL_REVIEW, **common)
            make_article("Derby", status=APPROVED, publish_at=soon(hours=1), **common)
            live = make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-1), **common)
            Update.objects.create(article=live, draft=live.revisions.get())

    fill(1)
    desk.get(BOARD)
    with CaptureQueriesContext(connection) as few:
        desk.get(BOARD)
    fill(5)
    with django_assert_max_num_queries(len(few)):
        desk.get(BOARD)
    with django_assert_max_num_queries(20):
        desk.get(f"{BOARD}content/")


def test_the_board_shows_who_has_to_finish_an_article_and_by_when(desk: Client) -> None:
    rita = make_member(Role.AUTHOR, "rita")
    make_article("Owned", owner=rita, due_at=soon(hours=-1))
    make_article("Other", due_at=soon(hours=1))
    make_article("Approved", owner=rita, due_at=soon(hours=-1), status=APPROVED)
    cards = {card.title: card for lane in desk.get(BOARD).context["lanes"] for card, _menu in lane["cards"]}
    assert {title: (card.assignment.partition("due")[0], card.is_late) for title, card in cards.items()} == {
        "Owned": ("Owner: rita · ", True), "Other": ("", False), "Approved": ("", False),
    }  # fmt: skip
    assert columns(opened_by(rita), "?author=me")["drafts"] == ["Owned"]
    assert columns(desk, f"?author={rita.pk}")["drafts"] == ["Owned"]
