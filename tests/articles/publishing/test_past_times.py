"""Times in the past: no source accepts one that would publish at once, unless that is asked for.

A time up to a minute past is "now"; `publish`, and `at_once` by a user who may publish, ask for it explicitly.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from articles import publishing
from articles.exceptions import InvalidSchedule, NotAllowed, NotRescheduled, TimePast
from articles.models import Article, BulkActionItem, Release
from articles.publishing import bulk
from articles.roles import Role
from articles.workflow import Transition
from scheduling.database import read_database_clock
from tests.articles.factories import (
    APPROVED,
    EARLY,
    make_article,
    make_channel,
    make_editor,
    make_member,
    make_release,
    make_user,
    publish_tasks,
    soon,
)

URL = "/api/v1/desk/articles/"
Status = Article.Status

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return make_editor()


@pytest.fixture
def desk(alice: User) -> APIClient:
    return api(alice)


def api(user: User) -> APIClient:
    client = APIClient()
    client.force_authenticate(user)
    return client


def waiting(title: str = "Budget", **values: Any) -> Article:
    return make_article(title, **{"status": APPROVED, "publish_at": soon(hours=1)} | values)


def move(client: APIClient, *articles: Article | int, shift: str = "-05:00:00", **more: Any) -> Any:
    ids = [article if isinstance(article, int) else article.pk for article in articles]
    return client.post(f"{URL}reschedule/", {"articles": ids, "shift": shift, **more})


def is_live(article: Article) -> bool:
    return Article.objects.live(read_database_clock()).filter(pk=article.pk).exists()


def times(*articles: Article) -> list[datetime | None]:
    return [Article.objects.get(pk=article.pk).publish_at for article in articles]


def test_a_shift_into_the_past_is_refused_by_name_and_moves_nothing(desk: APIClient) -> None:
    soon_due, later = waiting("Budget"), waiting("Harvest", publish_at=soon(hours=9))
    before = times(soon_due, later)
    response = move(desk, soon_due, later)
    assert (response.status_code, response.json()["code"]) == (400, "past")
    (sentence,) = response.json()["articles"]
    assert sentence.startswith(f"{soon_due.pk}: “Budget” would go live at once")
    assert times(soon_due, later) == before
    assert not is_live(soon_due)


def test_a_shift_may_publish_at_once_if_a_user_who_may_publish_says_so(desk: APIClient) -> None:
    article = waiting()
    planner = api(make_user("planner", "schedule_article"))
    refused = move(planner, article, at_once=True)
    assert (refused.status_code, refused.json()["code"], is_live(article)) == (403, "not_allowed", False)
    assert move(desk, article, at_once=True).json() == {"rescheduled": 1}
    assert is_live(article)


@pytest.mark.parametrize(
    "shift", ["00:10", "10", 600, "1 00:00:00", "00:10:00.5", "1:00:00", "00:99:00", "P", "PT", "P1Y", "soon", "", None]
)
def test_a_span_that_can_be_read_in_two_ways_is_refused(desk: APIClient, shift: Any) -> None:
    article = waiting()
    response = desk.post(f"{URL}reschedule/", {"articles": [article.pk], "shift": shift}, format="json")
    assert (response.status_code, list(response.json())) == (400, ["shift", "code"])
    assert shift is None or "HH:MM:SS" in response.json()["shift"][0]
    assert times(article) == [article.publish_at]


@pytest.mark.parametrize("shift", ["00:30:00", "PT30M", "+00:30:00", "P0DT0H30M0S"])
def test_both_formats_of_a_span_say_the_same(desk: APIClient, shift: str) -> None:
    article = waiting()
    assert move(desk, article, shift=shift).json() == {"rescheduled": 1}
    assert article.publish_at is not None
    assert times(article) == [article.publish_at + timedelta(minutes=30)]


def test_an_endless_span_is_refused(desk: APIClient) -> None:
    for shift in ("999999999999:00:00", "P999999999D", "P99999999999999999999D", "-999999:00:00"):
        assert move(desk, waiting(), shift=shift).status_code == 400


def test_what_cannot_be_moved_is_named_and_nothing_is_moved(desk: APIClient) -> None:
    good, draft, timeless = waiting("Good"), make_article("Draft"), make_article("Timeless", status=APPROVED)
    out = make_article("Out", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    due = make_article("Due", status=APPROVED, publish_at=soon(seconds=-1))
    response = move(desk, good, draft, timeless, out, due, 987654321, shift="01:00:00")
    assert (response.status_code, response.json()["code"]) == (400, "not_rescheduled")
    assert sorted(response.json()["articles"]) == sorted(
        [
            f"{draft.pk}: “Draft” is “Draft” and cannot have a time.",
            f"{timeless.pk}: “Timeless” has no time to reschedule.",
            f"{out.pk}: “Out” is live already.",
            f"{due.pk}: “Due” is live already.",
            "987654321: There is no such article.",
        ]
    )
    assert times(good) == [good.publish_at]


def test_a_channel_without_anything_to_move_is_no_success(desk: APIClient) -> None:
    channel = make_channel("Sport")
    make_article("Out", channel=channel, status=Status.PUBLISHED, publish_at=soon(hours=-1))
    body = {"channel": "sport", "shift": "01:00:00"}
    response = desk.post(f"{URL}reschedule/", body)
    assert (response.status_code, response.json()["code"]) == (400, "nothing_to_reschedule")
    waiting(channel=channel)
    assert desk.post(f"{URL}reschedule/", body).json() == {"rescheduled": 1}
    assert desk.post(f"{URL}reschedule/", {"articles": [], "shift": "01:00:00"}).status_code == 400


def by_schedule(desk: APIClient, article: Article, moment: datetime) -> Any:
    return desk.post(f"{URL}{article.pk}/schedule/", {"publish_at": moment.isoformat()})


def by_patch(desk: APIClient, article: Article, moment: datetime) -> Any:
    return desk.patch(f"{URL}{article.pk}/", {"publish_at": moment.isoformat()})


@pytest.mark.parametrize("source", [by_schedule, by_patch])
def test_a_time_in_the_past_is_refused_by_the_api(desk: APIClient, source: Callable[..., Any]) -> None:
    article = waiting()
    response = source(desk, article, soon(hours=-4))
    assert (response.status_code, response.json()["code"]) == (400, "past")
    assert (is_live(article), times(article)) == (False, [article.publish_at])


@pytest.mark.parametrize("source", [by_schedule, by_patch])
def test_a_time_just_past_is_now(desk: APIClient, source: Callable[..., Any]) -> None:
    """R0.2"""
    article = waiting()
    assert source(desk, article, soon(seconds=-30)).status_code == 200
    assert is_live(article)


def test_a_past_time_that_is_meant_publishes_at_once_and_keeps_its_date(desk: APIClient) -> None:
    """R0.2"""
    article, past = waiting(), soon(hours=-4).replace(microsecond=0)
    body = {"publish_at": past.isoformat(), "at_once": True}
    planner = api(make_user("planner", "schedule_article"))
    assert planner.post(f"{URL}{article.pk}/schedule/", body).status_code == 403
    assert desk.post(f"{URL}{article.pk}/schedule/", body).status_code == 200
    assert (is_live(article), times(article)) == (True, [past])


@pytest.mark.parametrize("name", ["publish_at", "unpublish_at", "embargo_until"])
def test_no_draft_gets_a_time_in_the_past(desk: APIClient, name: str) -> None:
    past = {name: soon(hours=-1).isoformat()}
    assert desk.post(URL, {"title": "Budget", **past}).json()["code"] == "past"
    draft = make_article()
    assert desk.patch(f"{URL}{draft.pk}/", past).json()["code"] == "past"
    assert list(Article.objects.values_list(name, flat=True)) == [None]


def test_old_times_may_stay_while_something_else_is_changed(desk: APIClient) -> None:
    past = soon(hours=-1).replace(microsecond=0)
    draft = make_article(publish_at=past)
    response = desk.patch(f"{URL}{draft.pk}/", {"title": "Newer", "publish_at": past.isoformat()})
    assert (response.status_code, times(draft)) == (200, [past])


def test_an_article_is_not_unpublished_by_a_slip(desk: APIClient) -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    response = desk.patch(f"{URL}{article.pk}/", {"unpublish_at": soon(minutes=-30).isoformat()})
    assert (response.json()["code"], is_live(article)) == ("past", True)


def test_an_embargo_is_not_lifted_by_a_slip(desk: APIClient) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=-2), embargo_until=soon(hours=1))
    response = desk.post(f"{URL}{article.pk}/embargo/", {"until": soon(hours=-1).isoformat()})
    assert (response.json()["code"], is_live(article)) == ("past", False)


def with_update(alice: User) -> Article:
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    publishing.edit(article, by=alice, changes={"title": "New"})
    return article


def test_no_update_gets_a_time_in_the_past(desk: APIClient, alice: User) -> None:
    article, past = with_update(alice), {"publish_at": soon(minutes=-5).isoformat()}
    assert desk.post(f"{URL}{article.pk}/update/schedule/", past).json()["code"] == "past"
    assert desk.post(f"{URL}{article.pk}/update/schedule/", {**past, "at_once": True}).status_code == 200


def test_no_release_gets_a_time_in_the_past(desk: APIClient, alice: User) -> None:
    release = make_release(make_article(status=APPROVED), by=alice)
    address, past = f"/api/v1/desk/releases/{release.pk}/schedule/", {"publish_at": soon(minutes=-5).isoformat()}
    assert desk.post(address, past).json()["code"] == "past"
    assert Release.objects.get().publish_at is None
    assert desk.post(address, {**past, "at_once": True}).status_code == 200


def test_no_screen_takes_a_time_in_the_past(alice: User) -> None:
    screen, article = Client(), waiting()
    screen.force_login(alice)
    release = make_release(make_article(status=APPROVED), by=alice)
    typed = timezone.localtime(soon(hours=-4)).replace(tzinfo=None).isoformat(timespec="seconds")
    page = screen.get(f"/admin/articles/article/{article.pk}/change/")
    form = page.context["adminform"].form
    sent = {"title": article.title, "seen": article.changed_at.isoformat(), "base": form["base"].value() or ""}
    for button in ("_save", "_step_schedule"):
        response = screen.post(
            f"/admin/articles/article/{article.pk}/change/", {**sent, "publish_at": typed, button: 1}
        )
        assert "This time is past" in response.content.decode()
    screen.post(f"/admin/articles/release/{release.pk}/schedule/", {"publish_at": typed})
    assert (times(article), Release.objects.get().publish_at) == ([article.publish_at], None)


def test_no_bulk_action_moves_articles_into_the_past(alice: User) -> None:
    near, far = waiting("Near"), waiting("Far", publish_at=soon(hours=9))
    chosen = [(near.pk, near.title), (far.pk, far.title)]
    moved = bulk.gather_articles(Transition.RESCHEDULE, chosen, by=alice)
    bulk.start_bulk_action(moved, minutes=-300)
    while bulk.advance_bulk_action(moved.pk):
        pass
    refused = BulkActionItem.objects.filter(state=BulkActionItem.State.REFUSED).get()
    assert (refused.title, "would go live at once" in refused.reason) == ("Near", True)
    assert times(near) == [near.publish_at]
    scheduled = bulk.gather_articles(Transition.SCHEDULE, chosen, by=alice)
    with pytest.raises(TimePast):
        bulk.start_bulk_action(scheduled, publish_at=soon(hours=-1))


def test_a_bulk_action_that_gets_its_turn_late_still_publishes(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never lost: the time was ahead when it was chosen."""
    article = make_article(status=APPROVED)
    bulk_action = bulk.gather_articles(Transition.SCHEDULE, [(article.pk, article.title)], by=alice)
    chosen = soon(seconds=5)
    bulk.start_bulk_action(bulk_action, publish_at=chosen)
    later = chosen + timedelta(minutes=10)
    for module in ("bulk", "transitions"):
        monkeypatch.setattr(f"articles.publishing.{module}.read_database_clock", lambda: later)
    bulk.advance_bulk_action(bulk_action.pk)
    assert times(article) == [chosen]


def test_no_command_schedules_for_the_past(alice: User) -> None:
    article = waiting()
    with pytest.raises((SystemExit, CommandError)):
        call_command("article", "schedule", str(article.pk), "--by", "alice", "--at", soon(hours=-1).isoformat())
    assert times(article) == [article.publish_at]


def test_services_take_a_time_that_is_named_as_at_once_and_a_shift_not(alice: User) -> None:
    """R0.2"""
    named, shifted = waiting(), waiting()
    publishing.schedule(named, publish_at=soon(hours=-4), by=alice)
    assert is_live(named)
    with pytest.raises(NotRescheduled, match="would go live at once"):
        publishing.reschedule_many([shifted], shift=timedelta(hours=-5), by=alice)
    with pytest.raises(NotAllowed):
        publishing.schedule(shifted, publish_at=soon(hours=-4), by=make_user("planner", "schedule_article"))
    assert publish_tasks(shifted) == [shifted.publish_at]


def test_publishers_may_ask_for_it(alice: User) -> None:
    article = waiting()
    publishing.schedule(article, publish_at=soon(hours=-4), by=make_member(Role.PUBLISHER))
    assert is_live(article)


def test_no_past_time_is_accepted_for_an_article_whose_end_is_past(alice: User) -> None:
    article = waiting(publish_at=None, unpublish_at=soon(hours=-1), cleared_at=EARLY)
    with pytest.raises(InvalidSchedule, match="would be unpublished before it goes live"):
        publishing.schedule(article, publish_at=soon(hours=-2), by=alice)
    with pytest.raises(InvalidSchedule, match="would be unpublished before it goes live"):
        publishing.schedule_many([article], publish_at=soon(hours=-2), by=alice)
    assert Article.objects.get().publish_at is None
