"""The state of an article as sentences: on its page, in the list and after a transition."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from articles import publishing
from articles.models import Article
from articles.roles import Role
from articles.workflow import Transition
from tests.articles.desk.articles.test_admin import LIST, form_address, logged_in, press, wall
from tests.articles.factories import APPROVED, make_article, make_channel, make_editor, make_member, make_user, soon

pytestmark = pytest.mark.django_db

Status = Article.Status


@pytest.fixture
def desk() -> Client:
    return logged_in(make_editor())


def strip(client: Client, article: Article) -> str:
    """The status strip above the form."""
    page: str = client.get(form_address(article)).text
    found = re.search(r'id="state">.*?</div>', page, re.DOTALL)
    assert found
    return found[0]


def rows(page: Any) -> list[str]:
    return [str(article.title) for article in page.context["cl"].result_list]


def test_the_scheduled_tab_is_sorted_by_time_and_says_scheduled(desk: Client) -> None:
    for title, hours in (("Third", 3), ("First", 1), ("Second", 2)):
        make_article(title, status=APPROVED, publish_at=soon(hours=hours))
    make_article("No time", status=APPROVED)
    page = desk.get(f"{LIST}?stage=scheduled")
    assert rows(page) == ["First", "Second", "Third"]
    assert rows(desk.get(f"{LIST}?stage=scheduled&o=-3")) == ["Third", "Second", "First"], "another order when asked"
    badges = re.findall(r"field-badge.*?</t[dh]>", page.text, re.DOTALL)
    assert all("Scheduled" in badge and "Approved" not in badge for badge in badges)
    assert rows(desk.get(LIST))[0] == "No time", "all others by their last modified"
    assert "Scheduled" in desk.get(form_address(Article.objects.get(title="First"))).text


def test_the_strip_names_embargo_end_and_retraction_notice(desk: Client) -> None:
    embargo, end = soon(hours=3), soon(hours=9)
    article = make_article(embargo_until=embargo, unpublish_at=end)
    assert "Under embargo until" in strip(desk, article)
    assert "Will be unpublished on" in strip(desk, article)
    out = make_article("Out", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    assert "Under embargo" not in strip(desk, out)
    publishing.retract(out, by=make_editor("bob"), notice="Not <true>.")
    assert "readers see the retraction notice.</span>" in strip(desk, out)
    assert "“Not &lt;true&gt;.”" in strip(desk, out)


def test_submitting_without_channel_time_or_summary_is_said_and_not_stopped(desk: Client) -> None:
    bare = make_article("Bare")
    page = press(desk, bare, Transition.SUBMIT)
    assert "Submitted without: channel, publish at, summary." in page.text
    whole = make_article("Whole", summary="All of it.", channel=make_channel(), publish_at=soon(hours=1))
    assert "Submitted without" not in press(desk, whole, Transition.SUBMIT).text
    assert set(Article.objects.values_list("status", flat=True)) == {Status.MANUAL_REVIEW}


def test_the_history_shows_who_changed_the_time(desk: Client) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    press(desk, article, "_save", publish_at=wall(soon(hours=1) + timedelta(days=1)))
    page = desk.get(f"{form_address(article).removesuffix('change/')}history/", follow=True).text
    activity = page[page.index('id="record" open') :]
    assert "alice" in activity
    assert re.search(r"\d\d:\d\d:\d\d.*→.*\d\d:\d\d:\d\d", activity)


def test_who_only_reads_a_text_is_offered_no_save_and_led_to_the_review_queue() -> None:
    article = make_article(status=Status.MANUAL_REVIEW, author=make_user("ada"))
    page = logged_in(make_member(Role.REVIEWER)).get(form_address(article)).text
    assert 'name="_save"' not in page
    assert 'name="_continue"' not in page
    assert f"/admin/articles/queuedarticle/{article.pk}/change/" in page
    assert "Claim and review" in page
    writer = logged_in(make_editor()).get(form_address(article)).text
    assert 'name="_save"' in writer


def test_who_only_sets_times_may_save_them() -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    assert 'name="_save"' in logged_in(make_member(Role.PUBLISHER)).get(form_address(article)).text
