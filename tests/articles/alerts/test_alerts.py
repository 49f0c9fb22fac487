"""Breaking alerts: shown by the clock with their article, set by who may publish, approved by another person."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect
from rest_framework.test import APIClient

from articles import publishing
from articles.alerts import close_past_alerts, delete_alert, save_alert
from articles.cache.next_change import next_change
from articles.exceptions import AlertTaken, NotAllowed, SensitiveText
from articles.models import Alert, Article, AuditEntry, ProposedChange, SensitiveWord
from articles.review import approve_change, comparisons, version_of_change
from tests.articles.factories import APPROVED, EARLY, make_article, make_channel, make_editor, make_user, soon

pytestmark = pytest.mark.django_db

TEXT = "Harbour bridge closed"
ADDRESS = "/api/v1/desk/alerts/"
PAGES = ("/", "/latest/", "/search/", "/nowhere/")


def scheduled(**values: Any) -> Article:
    """An article of the next hour, approved long ago."""
    values = {"status": APPROVED, "publish_at": soon(hours=1), "cleared_at": EARLY, **values}
    return make_article("Bridge closed after collision", **values)


def alert_of(article: Article, **values: Any) -> Alert:
    return Alert.objects.create(article=article, text=TEXT, **values)


def seen(*pages: str) -> list[bool]:
    """Whether readers see the alert on these pages."""
    return [TEXT in Client().get(page).text for page in pages or PAGES]


def shown_at(*moments: datetime) -> list[bool]:
    return [Alert.objects.shown(moment).exists() for moment in moments]


def test_readers_see_it_with_its_article_and_not_longer_than_its_time() -> None:
    article = scheduled()
    alert = alert_of(article, lasts=timedelta(minutes=20))
    instant = article.publish_at
    assert instant
    end, moment = instant + timedelta(minutes=20), timedelta(microseconds=1)
    assert shown_at(instant - moment, instant, end - moment, end) == [False, True, True, False]
    assert (alert.begins_at, alert.ends_at) == (instant, end)
    assert seen() == [False] * 4
    Article.objects.filter(pk=article.pk).update(publish_at=soon(minutes=-19), cleared_at=EARLY)
    assert seen() == [True] * 4
    Article.objects.filter(pk=article.pk).update(publish_at=soon(minutes=-21), cleared_at=EARLY)
    assert seen() == [False] * 4


def test_one_with_a_time_of_its_own_begins_then_but_never_before_its_article() -> None:
    article = scheduled()
    instant, moment = article.publish_at, timedelta(microseconds=1)
    assert instant
    later, earlier = instant + timedelta(minutes=5), instant - timedelta(minutes=30)
    alert = alert_of(article, starts_at=later)
    assert shown_at(instant, later - moment, later) == [False, False, True]
    Alert.objects.filter(pk=alert.pk).update(starts_at=earlier)
    assert shown_at(earlier, instant - moment, instant) == [False, False, True]


@pytest.mark.parametrize(
    "hidden",
    [
        {"status": Article.Status.MANUAL_REVIEW},
        {"status": Article.Status.RETRACTED},
        {"status": Article.Status.UNPUBLISHED},
        {"embargo_until": datetime(2100, 1, 1, tzinfo=UTC)},
        {"unpublish_at": datetime(2026, 1, 1, tzinfo=UTC)},
    ],
    ids=lambda values: "-".join(values),
)
def test_nothing_is_seen_of_an_article_that_is_not_out(hidden: dict[str, Any]) -> None:
    article = scheduled(publish_at=soon(minutes=-2))
    alert_of(article)
    assert seen() == [True] * 4
    Article.objects.filter(pk=article.pk).update(**hidden)
    assert seen() == [False] * 4


def test_its_own_page_does_not_point_to_itself_and_the_latest_of_several_is_shown() -> None:
    older, newer = (scheduled(publish_at=soon(minutes=-minutes)) for minutes in (9, 3))
    alert_of(older)
    Alert.objects.create(article=newer, text="Ferry sunk")
    page = Client().get(older.get_absolute_url()).text
    assert (TEXT in page, "Ferry sunk" in page) == (False, True)
    assert TEXT not in Client().get(newer.get_absolute_url()).text


def test_cached_pages_end_with_its_window() -> None:
    article = scheduled(publish_at=soon(minutes=-10))
    alert = alert_of(article, starts_at=soon(seconds=20), lasts=timedelta(minutes=5))
    assert next_change().at == alert.starts_at
    Alert.objects.filter(pk=alert.pk).update(starts_at=None, lasts=timedelta(minutes=10, seconds=30))
    assert next_change().at == Alert.objects.get().ends_at


@pytest.mark.django_db(transaction=True)
def test_setting_and_deleting_one_changes_cached_pages_at_once(settings: Any) -> None:
    settings.PAGE_CACHE_SECONDS = 60.0
    article, editor = scheduled(publish_at=soon(minutes=-2)), make_editor()
    alert = Alert(article=article, text=TEXT)
    for change, is_seen in ((save_alert, True), (delete_alert, False)):
        Client().get("/")
        change(alert, by=editor)
        assert (TEXT in Client().get("/").text) is is_seen
    actions = AuditEntry.objects.of(article).order_by("pk").values_list("action", flat=True)
    assert list(actions)[-2:] == ["set_alert", "delete_alert"]


@pytest.mark.django_db(transaction=True)
def test_unpublishing_its_article_changes_the_pages_that_show_it(settings: Any) -> None:
    settings.PAGE_CACHE_SECONDS = 60.0
    article = scheduled(publish_at=soon(minutes=-2))
    alert_of(article)
    other = scheduled(publish_at=soon(minutes=-9), channel=make_channel()).get_absolute_url()
    assert seen(other) == [True]
    publishing.unpublish(article, by=make_editor())
    assert seen(other) == [False]


def test_who_may_not_publish_sets_none_and_an_article_has_one() -> None:
    article, editor = scheduled(), make_editor()
    with pytest.raises(NotAllowed):
        save_alert(Alert(article=article, text=TEXT), by=make_user("ann", "change_article", "view_article"))
    SensitiveWord.objects.create(text="secret plot", level=SensitiveWord.Level.BLOCK)
    with pytest.raises(SensitiveText):
        save_alert(Alert(article=article, text="A secret plot"), by=editor)
    save_alert(Alert(article=article, text=TEXT), by=editor)
    with pytest.raises(AlertTaken):
        save_alert(Alert(article=article, text="Another"), by=editor)


def test_under_the_two_person_rule_another_person_lets_it_be_seen(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    article, ann, bob = scheduled(publish_at=soon(minutes=-2)), make_editor("ann"), make_editor("bob")
    alert = Alert(article=article, text=TEXT)
    save_alert(alert, by=ann)
    assert seen("/") == [False]
    change = ProposedChange.objects.get()
    version = version_of_change(comparisons(change))
    with pytest.raises(NotAllowed):
        approve_change(change.pk, version=version, by=ann)
    approve_change(change.pk, version=version, by=bob)
    assert seen("/") == [True]
    stored = Alert.objects.get()
    stored.text = "Something else"
    save_alert(stored, by=bob)
    assert seen("/") == [True]
    hidden = Alert.objects.get()
    hidden.enabled = False
    save_alert(hidden, by=bob)
    assert seen("/") == [False]


def test_past_ones_are_closed_so_that_readers_queries_find_few() -> None:
    past, fresh = scheduled(publish_at=soon(days=-2)), scheduled(publish_at=soon(minutes=-30))
    alert_of(past), alert_of(fresh)
    assert close_past_alerts() == 1
    assert set(Alert.objects.open().values_list("article", flat=True)) == {fresh.pk}


def test_the_editor_offers_one_and_its_form_begins_with_the_headline(client: Client) -> None:
    article = scheduled()
    client.force_login(make_editor())
    address = f"{reverse('admin:articles_alert_add')}?article={article.pk}"
    assert address in client.get(reverse("admin:articles_article_change", args=[article.pk])).text
    form = client.get(address).context["adminform"].form
    assert form["text"].value() == article.title
    sent = {"article": article.pk, "text": TEXT, "lasts": "10", "enabled": "on"}
    client.post(address, sent, follow=True)
    alert = Alert.objects.get()
    assert (alert.text, alert.lasts, alert.starts_at) == (TEXT, timedelta(minutes=10), None)
    page = client.get(reverse("admin:articles_article_change", args=[article.pk])).text
    assert f"Breaking alert, 10 minutes: “{TEXT}” (Scheduled)" in page
    assert TEXT in client.get(reverse("admin:articles_alert_changelist")).text
    again = client.post(address, sent)
    assert "This article has a breaking alert already." in again.text


def test_programs_set_change_and_delete_it() -> None:
    article, client = scheduled(), APIClient()
    client.force_authenticate(make_editor())
    starts_at = "2030-03-10T02:30:00.123456Z"
    made = client.post(ADDRESS, {"article": article.pk, "text": TEXT, "starts_at": starts_at}, format="json")
    assert made.status_code == 201, made.data
    assert (made.data["minutes"], made.data["starts_at"], made.data["begins_at"]) == (20, starts_at, starts_at)
    one = f"{ADDRESS}{made.data['id']}/"
    changed = client.patch(one, {"minutes": 60}, format="json")
    assert (changed.status_code, changed.data["minutes"], changed.data["starts_at"]) == (200, 60, starts_at)
    changed = client.patch(one, {"starts_at": None}, format="json")
    assert changed.data["begins_at"] == client.get(f"/api/v1/desk/articles/{article.pk}/").data["publish_at"]
    assert client.patch(one, {"minutes": 7}, format="json").status_code == 400
    assert client.post(ADDRESS, {"article": article.pk, "text": TEXT}, format="json").status_code == 400
    assert client.delete(one).status_code == 204
    assert not Alert.objects.exists()
    client.force_authenticate(make_user("ann", "change_article", "view_article"))
    assert client.get(ADDRESS).status_code == 403


def test_an_open_page_shows_it_without_moving_until_it_is_closed(page: Page) -> None:
    page.goto("/")
    heading = page.get_by_role("link", name="Headline", exact=True)
    before = heading.bounding_box()
    alert_of(scheduled(publish_at=soon(minutes=-2)))
    banner = page.get_by_role("complementary", name="Breaking news")
    expect(banner).to_contain_text(TEXT)
    assert heading.bounding_box() == before
    banner.get_by_role("button", name="Close the breaking alert").click()
    expect(banner).to_have_count(0)
    with page.expect_response("**/latest/"):
        page.goto("/search/")
    expect(banner).to_have_count(0)
