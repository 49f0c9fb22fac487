"""The question of a bulk action that schedules: quick choices, conflicts and checks."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from playwright.sync_api import Page, expect

from articles.desk.bulk import schedule_hints
from articles.models import Article, Channel
from articles.publishing import gather_articles
from articles.workflow import Transition
from tests.articles.browsers import sign_in
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, publish_tasks, soon

pytestmark = pytest.mark.django_db(transaction=True)


def ready(number: int, **values: Any) -> list[Article]:
    """Approved articles with everything but a time."""
    values = {"status": APPROVED, "body": "<p>Text</p>", "summary": "Why.", **values}
    return [make_article(f"No. {n}", **values) for n in range(number)]


def some_editor() -> User:
    return User.objects.filter(username="alice").first() or make_editor()


class Question:
    """The question whether to schedule some articles."""

    def __init__(self, *articles: Article) -> None:
        alice, self.client = some_editor(), Client()
        self.client.force_login(alice)
        action = gather_articles(Transition.SCHEDULE, [(one.pk, one.title) for one in articles], by=alice)
        self.address = f"/admin/desk/bulk-actions/{action.pk}/"

    def ask(self, **fields: str) -> Any:
        if not fields:
            return self.client.get(self.address)
        return self.client.post(self.address, {"publish_at_zone": "UTC", **fields})

    def cost(self, **fields: str) -> int:
        with CaptureQueriesContext(connection) as queries:
            assert self.ask(**fields).status_code == 200
        return len(queries)


@pytest.fixture
def channel() -> Channel:
    return make_channel("Sport")


def wall(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"


def tomorrow() -> datetime:
    return (timezone.now() + timedelta(days=1)).replace(hour=7, minute=0, second=0, microsecond=0)


def test_a_quick_choice_fills_in_the_time_and_schedules_nothing_yet(channel: Channel) -> None:
    articles = ready(2, channel=channel)
    question = Question(*articles)
    assert "Tomorrow 07:00" in question.ask().text
    page = question.ask(preset="tomorrow")
    assert f'value="{wall(tomorrow())}"' in page.text and "07:00 (UTC)" in page.text
    assert [publish_tasks(article) for article in articles] == [[], []]
    assert question.ask(publish_at=wall(tomorrow())).status_code == 302


def test_conflicts_with_others_and_among_the_chosen_are_named_and_counted(channel: Channel) -> None:
    at = tomorrow()
    question = Question(*ready(3, channel=channel), *ready(1, channel=make_channel("City")))
    for number in range(5):
        make_article(f"Rival {number}", channel=channel, status=APPROVED, publish_at=at + timedelta(seconds=number))
    make_article("Elsewhere", channel=make_channel("Culture"), status=APPROVED, publish_at=at)
    text = question.ask(preset="tomorrow").text
    assert "3 of the selected articles go live in “Sport” at this time." in text
    assert "“City”" not in text and "Elsewhere" not in text
    assert [f"Rival {number}" in text for number in range(5)] == [True, True, True, False, False]
    assert "2 more at nearly the same time." in text


def test_a_past_time_is_named_while_it_is_typed(channel: Channel) -> None:
    question = Question(*ready(1, channel=channel))
    fragment = question.ask(look="1", publish_at=wall(timezone.now() - timedelta(days=1))).text
    assert "This time is past" in fragment and "<html" not in fragment
    assert "This time is past" not in question.ask(look="1", publish_at=wall(tomorrow())).text
    assert question.ask(look="1", publish_at="nonsense").status_code == 200


def test_open_checks_are_named_and_of_many_articles_the_first_are_checked(
    channel: Channel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schedule_hints, "CHECKED", 3)
    whole, bare = ready(1, channel=channel), ready(1, summary="")
    question = Question(*whole, *bare, *ready(8, channel=channel))
    text = question.ask().text
    assert "1 article with open checks" in text
    assert "No channel is chosen." in text and "There is no summary." in text and "No publish time" not in text
    assert "7 more articles are not checked here." in text
    few = question.cost(preset="tomorrow")
    assert Question(*ready(60, channel=channel)).cost(preset="tomorrow") <= few


@pytest.mark.thorough
def test_typed_times_are_explained_in_the_page(page: Page, channel: Channel) -> None:
    question = Question(*ready(1, channel=channel))
    sign_in(page)
    page.goto(question.address)
    moment = soon(days=3, hours=3)
    page.get_by_label("Publish at").fill(wall(moment))
    expect(page.get_by_role("status").filter(has_text="in 3 days")).to_contain_text(f"{moment:%H:%M}")
