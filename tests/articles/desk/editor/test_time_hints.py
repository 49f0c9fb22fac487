"""Hints below time fields while a time is typed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect

from articles.desk.editor.time_hints import quick_times, sentence
from articles.models import Article, Preferences
from tests.articles.desk.articles.test_admin import form_address, logged_in, wall
from tests.articles.desk.editor.test_body import open_form
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_user, soon

BERLIN = ZoneInfo("Europe/Berlin")


def ask(client: Client, **typed: Any) -> dict[str, Any]:
    response: dict[str, Any] = client.get("/admin/articles/article/times/", typed).json()["fields"]
    return response


@pytest.fixture
def desk(db: None) -> Client:
    return logged_in(make_editor())


@pytest.mark.django_db(transaction=True)
def test_a_time_is_chosen_in_ones_own_zone_and_explained_while_it_is_typed(page: Page) -> None:
    politics = make_channel()
    article = make_article("Bridge", channel=politics)
    make_article("Ferry", channel=politics, status=APPROVED, publish_at=datetime(2037, 10, 25, 1, 31, tzinfo=UTC))
    body = open_form(page, article)
    Preferences.objects.create(user=User.objects.get(), time_zone="Europe/Berlin")
    page.reload()
    expect(body).to_be_visible()
    time, says = page.get_by_label("Publish at", exact=True), page.locator("#id_publish_at_0_hint")
    assert says.evaluate("hint => hint.offsetHeight") == 0, "no gap without a hint"
    page.get_by_role("button", name="Tomorrow 07:00").press("Enter")
    expect(says).to_contain_text("07:00 (Europe/Berlin)")
    expect(says).to_contain_text("in ")
    time.fill("2037-03-29T02:30")
    expect(says).to_contain_text("does not exist in Europe/Berlin")
    time.fill("2037-10-25T02:30")
    expect(says).to_contain_text("occurs twice in Europe/Berlin")
    page.get_by_label("Which occurrence").first.select_option(label="the second, UTC+1")
    expect(says).to_contain_text("“Ferry” in the same channel goes live at 02:31:00.")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.").first).to_be_visible()
    assert Article.objects.get(pk=article.pk).publish_at == datetime(2037, 10, 25, 1, 30, tzinfo=UTC)


def test_conflicts_with_live_articles_are_past_and_articles_that_missed_the_time_are_none(
    desk: Client,
) -> None:
    channel, now = make_channel(), soon()
    for title, seconds, values in (
        ("Never approved", -40, {"status": Article.Status.DRAFT}),
        ("Embargoed", -35, {"status": APPROVED, "embargo_until": now + timedelta(hours=1)}),
        ("Out", -30, {"status": Article.Status.PUBLISHED}),
        ("Unrecorded", -20, {"status": APPROVED}),
        ("To come", 50, {"status": APPROVED}),
    ):
        make_article(title, channel=channel, publish_at=now + timedelta(seconds=seconds), **values)
    said = ask(desk, channel=channel.pk, publish_at=f"{now:%Y-%m-%dT%H:%M:%S}")["publish_at"]["problems"]
    verbs = {"Out": "went", "Unrecorded": "went", "To come": "goes"}
    conflicts = [hint for hint in said if "channel" in hint]
    assert len(conflicts) == 3
    for hint, (title, verb) in zip(conflicts, verbs.items(), strict=True):
        assert hint.startswith(f"“{title}” in the same channel {verb} live at")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (
            datetime(2026, 11, 20, 9, 15, 30, tzinfo=BERLIN),  # a Friday morning
            {"hour": "20T10:16", "tonight": "20T18:00", "tomorrow": "21T07:00", "monday": "23T07:00"},
        ),
        (
            datetime(2026, 11, 22, 23, 30, tzinfo=BERLIN),  # a Sunday night: Monday is tomorrow
            {"hour": "23T00:30", "tomorrow": "23T07:00"},
        ),
        (
            datetime(2026, 11, 23, 6, tzinfo=BERLIN),  # a Monday: the next one
            {"hour": "23T07:00", "tonight": "23T18:00", "tomorrow": "24T07:00", "monday": "30T07:00"},
        ),
    ],
)
def test_the_quick_choices_are_those_of_the_editors_day(now: datetime, expected: dict[str, str]) -> None:
    with timezone.override(BERLIN):
        found = quick_times(now.astimezone(UTC))
    assert {name: f"{moment:%dT%H:%M}" for name, (_label, moment) in found.items()} == expected


def test_in_one_hour_is_one_hour_even_over_the_change_of_clocks() -> None:
    with timezone.override(BERLIN):
        assert quick_times(datetime(2026, 3, 29, 0, 30, tzinfo=UTC))["hour"][1] == datetime(2026, 3, 29, 3, 30)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (59.9, "in 59 seconds"),
        (1, "in 1 second,"),
        (0.2, "in 1 second,"),
        (-20, "20 seconds ago"),
        (60, "in 1 minute,"),
    ],
)
def test_a_time_that_is_nearly_there_is_said_in_seconds(seconds: float, expected: str) -> None:
    now = datetime(2026, 11, 23, 16, tzinfo=UTC)
    assert sentence(now + timedelta(seconds=seconds), now).replace("\xa0", " ").startswith(expected)


def test_a_time_is_said_with_its_distance_day_and_zone() -> None:
    now = datetime(2026, 11, 23, 16, tzinfo=UTC)
    with timezone.override(BERLIN):
        soon_said = sentence(datetime(2026, 11, 24, 6, tzinfo=UTC), now).replace("\xa0", " ")
        past_said = sentence(datetime(2026, 11, 23, 13, tzinfo=UTC), now).replace("\xa0", " ")
    assert soon_said == "in 14 hours, Tuesday 24 November 07:00 (Europe/Berlin)"
    assert past_said == "3 hours ago, Monday 23 November 14:00 (Europe/Berlin)"


def test_what_speaks_against_the_times_is_said(desk: Client) -> None:
    live = soon(hours=2)
    shown = ask(desk, publish_at=wall(live), embargo_until=wall(soon(hours=3)), unpublish_at=wall(soon(hours=1)))
    assert "The embargo ends later" in shown["embargo_until"]["problems"][0]
    assert shown["unpublish_at"]["problems"] == ["The article would be unpublished before it goes live."]
    assert shown["publish_at"]["problems"] == []
    assert "This time is past" in ask(desk, publish_at=wall(soon(hours=-1)))["publish_at"]["problems"][0]
    assert ask(desk, publish_at="nonsense")["publish_at"]["problems"] != []
    assert ask(desk)["publish_at"] == {"sentence": "", "zone": "UTC", "problems": [], "occurrences": []}


def test_neighbours_are_those_of_the_channel_within_five_minutes(desk: Client) -> None:
    politics, sport = make_channel(), make_channel("Sport", slug="sport")
    live = soon(hours=2).replace(microsecond=0)
    own = make_article("Own", channel=politics, publish_at=live)
    make_article("Near", channel=politics, publish_at=live)
    make_article("Far", channel=politics, publish_at=soon(hours=3))
    make_article("Elsewhere", channel=sport, publish_at=live)
    make_article("Gone", channel=politics, publish_at=live, status=Article.Status.UNPUBLISHED)
    problems = ask(desk, publish_at=wall(live), channel=politics.pk, article=own.pk)["publish_at"]["problems"]
    assert len(problems) == 1
    assert "“Near”" in problems[0]
    assert ask(desk, publish_at=wall(live), channel="x", article="y")["publish_at"]["problems"] == []


def test_the_times_are_for_those_who_see_articles(db: None) -> None:
    assert logged_in(make_user("bob")).get("/admin/articles/article/times/").status_code == 403


def test_the_form_names_the_zone_beside_each_time(desk: Client) -> None:
    article = make_article()
    with timezone.override(BERLIN):
        assert "Europe/Berlin (UTC+" in desk.get(form_address(article)).text
