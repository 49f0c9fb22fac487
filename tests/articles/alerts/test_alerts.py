"""Breaking alerts: shown by the clock with their article, set by who may publish, approved by another person."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from playwright.sync_api import Page, expect
from rest_framework.test import APIClient

from articles import publishing
from articles.alerts import delete_alert, save_alert, sync_open_alerts
from articles.cache import SITE
from articles.cache.next_change import next_change
from articles.cache.tags import tags_of
from articles.exceptions import AlertChanged, AlertTaken, ArticleGone, NotAllowed, NotEditable, SensitiveText
from articles.models import Alert, Article, AuditEntry, ProposedChange, SensitiveWord
from articles.review import approve_change, comparisons, version_of_change
from scheduling.database import read_database_clock
from tests.articles.factories import APPROVED, EARLY, approve, make_article, make_channel, make_editor, make_user, soon
from tests.articles.site.test_query_counts import counted

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
    assert seen("/") == [False]
    alert = save_alert(article.pk, {"text": TEXT}, by=editor)
    assert seen("/") == [True]
    delete_alert(alert, by=editor)
    assert seen("/") == [False]
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
        save_alert(article.pk, {"text": TEXT}, by=make_user("ann", "change_article", "view_article"))
    SensitiveWord.objects.create(text="secret plot", level=SensitiveWord.Level.BLOCK)
    with pytest.raises(SensitiveText):
        save_alert(article.pk, {"text": "A secret plot"}, by=editor)
    with pytest.raises(NotEditable):
        save_alert(article.pk, {"text": "x" * 141}, by=editor)
    alert = save_alert(article.pk, {"text": TEXT}, by=editor)
    with pytest.raises(AlertTaken):
        save_alert(article.pk, {"text": "Another"}, by=editor)
    pk = alert.pk
    delete_alert(alert, by=editor)
    with pytest.raises(AlertChanged):
        save_alert(article.pk, {"text": "Another"}, by=editor, pk=pk)
    Article.objects.all().delete()
    with pytest.raises(ArticleGone):
        save_alert(article.pk, {"text": TEXT}, by=editor)


def test_a_change_leaves_what_another_has_changed_since() -> None:
    article, editor = scheduled(), make_editor()
    alert = save_alert(article.pk, {"text": TEXT}, by=editor)
    save_alert(article.pk, {"lasts": timedelta(hours=1)}, by=editor, pk=alert.pk)
    save_alert(article.pk, {"text": "Something else"}, by=editor, pk=alert.pk)
    assert Alert.objects.values_list("text", "lasts", "enabled").get() == ("Something else", timedelta(hours=1), True)


def approve_by(by: User) -> None:
    change = ProposedChange.objects.get()
    approve_change(change.pk, version=version_of_change(comparisons(change)), by=by)


def state_now(now: datetime | None = None) -> str:
    alert: Any = Alert.objects.state_at(now or read_database_clock()).get()
    return str(alert.state)


@pytest.mark.parametrize(
    "changed",
    [{"text": "Something else"}, {"starts_at": EARLY}, {"lasts": timedelta(minutes=5)}, {"enabled": True}],
    ids=lambda values: next(iter(values)),
)
def test_under_the_two_person_rule_another_person_lets_each_change_be_seen(
    settings: Any, changed: dict[str, Any]
) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    article, ann, bob = scheduled(publish_at=soon(minutes=-2)), make_editor("ann"), make_editor("bob")
    alert = alert_of(article, enabled="enabled" not in changed)
    save_alert(article.pk, changed, by=ann, pk=alert.pk)
    assert (Alert.objects.shown(read_database_clock()).exists(), state_now()) == (False, "waits_for_approval")
    assert ProposedChange.objects.get().values == {"enabled": True}
    with pytest.raises(NotAllowed):
        approve_by(ann)
    approve_by(bob)
    assert (Alert.objects.shown(read_database_clock()).exists(), state_now()) == (True, "live")
    stored = Alert.objects.get()
    assert all(getattr(stored, name) == value for name, value in changed.items())


def test_under_the_two_person_rule_a_new_one_waits_and_is_turned_off_alone(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    article, ann, bob = scheduled(publish_at=soon(minutes=-2)), make_editor("ann"), make_editor("bob")
    alert = save_alert(article.pk, {"text": TEXT}, by=ann)
    assert seen("/") == [False]
    compared = {one.field: one.new for one in comparisons(ProposedChange.objects.get())}
    assert compared.keys() == {"article_id", "text", "starts_at", "lasts", "push", "in_quiet_hours", "enabled"}
    assert (compared["article_id"], compared["text"]) == (article.title, TEXT)
    approve_by(bob)
    assert seen("/") == [True]
    save_alert(article.pk, {"lasts": timedelta(hours=1)}, by=ann, pk=alert.pk)
    save_alert(article.pk, {"enabled": False}, by=bob, pk=alert.pk)
    assert (state_now(), ProposedChange.objects.count()) == ("off", 0)


def test_one_that_is_approved_too_late_begins_then(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    article, ann, bob = scheduled(publish_at=soon(minutes=-30)), make_editor("ann"), make_editor("bob")
    save_alert(article.pk, {"text": TEXT}, by=ann)
    before = read_database_clock()
    approve_by(bob)
    stored = Alert.objects.get()
    assert stored.starts_at and before <= stored.starts_at <= read_database_clock()
    assert seen("/") == [True]


def test_one_that_is_turned_on_for_an_older_article_begins_now_but_not_before_its_article() -> None:
    old, hidden = scheduled(publish_at=soon(hours=-5)), make_article("Draft", publish_at=soon(hours=-5))
    editor = make_editor()
    first = save_alert(old.pk, {"text": TEXT}, by=editor)
    second = save_alert(hidden.pk, {"text": "Never"}, by=editor)
    assert (first.starts_at is None, second.starts_at) == (False, None)
    begun = Alert.objects.get(pk=first.pk).starts_at
    save_alert(old.pk, {"text": "Corrected"}, by=editor, pk=first.pk)
    assert Alert.objects.get(pk=first.pk).starts_at == begun


def test_a_sensitive_word_never_keeps_one_on_and_is_looked_for_again_on_approval(settings: Any) -> None:
    article, ann, bob = scheduled(publish_at=soon(minutes=-2)), make_editor("ann"), make_editor("bob")
    alert = save_alert(article.pk, {"text": TEXT}, by=ann)
    SensitiveWord.objects.create(text="Harbour bridge", level=SensitiveWord.Level.BLOCK)
    with pytest.raises(SensitiveText):
        save_alert(article.pk, {"lasts": timedelta(hours=1)}, by=ann, pk=alert.pk)
    save_alert(article.pk, {"enabled": False}, by=ann, pk=alert.pk)
    assert state_now() == "off"
    with pytest.raises(SensitiveText):
        save_alert(article.pk, {"enabled": True}, by=ann, pk=alert.pk)
    SensitiveWord.objects.all().delete()
    settings.ARTICLES_TWO_PERSON_RULE = True
    save_alert(article.pk, {"enabled": True}, by=ann, pk=alert.pk)
    SensitiveWord.objects.create(text="Harbour bridge", level=SensitiveWord.Level.BLOCK)
    with pytest.raises(SensitiveText):
        approve_by(bob)
    assert state_now() == "waits_for_approval"


def test_its_proposed_change_goes_with_it_and_with_its_article(settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    article, ann = scheduled(), make_editor("ann")
    delete_alert(save_alert(article.pk, {"text": TEXT}, by=ann), by=ann)
    assert not ProposedChange.objects.exists()
    save_alert(article.pk, {"text": TEXT}, by=ann)
    article.delete()
    assert not ProposedChange.objects.exists()


def test_who_may_delete_its_article_may_delete_it(client: Client) -> None:
    article = scheduled()
    alert = alert_of(article)
    with pytest.raises(NotAllowed):
        delete_alert(alert, by=make_user("bob", "change_article", "view_article"))
    client.force_login(make_user("ann", "change_article", "view_article", "delete_article"))
    client.post(reverse("admin:articles_article_delete", args=[article.pk]), {"post": "yes"})
    assert not Article.objects.exists()


def test_each_state_is_decided_by_the_condition_that_readers_have() -> None:
    article = scheduled(publish_at=soon(hours=1))
    alert = alert_of(article, lasts=timedelta(minutes=20))
    instant, moment = article.publish_at, timedelta(microseconds=1)
    assert instant
    moments = (instant - moment, instant, instant + alert.lasts - moment, instant + alert.lasts)
    assert [state_now(at) for at in moments] == ["scheduled", "live", "live", "over"]
    Article.objects.filter(pk=article.pk).update(status=Article.Status.UNPUBLISHED)
    assert state_now(instant) == "waits_for_article"
    Alert.objects.update(enabled=False)
    assert state_now(instant) == "off"


def test_only_what_readers_may_come_to_see_is_open() -> None:
    def of(title: str, **values: Any) -> int:
        return alert_of(make_article(title, **values)).pk

    past, fresh = soon(days=-8), soon(days=-6)
    of("Past", status=Article.Status.PUBLISHED, publish_at=past, published_at=past)
    is_open = {
        of("Fresh", status=Article.Status.PUBLISHED, publish_at=fresh, published_at=fresh),
        of("Waiting", status=APPROVED, publish_at=soon(days=40)),
    }
    draft = of("Draft", publish_at=soon(hours=1))
    assert sync_open_alerts() == 2
    assert set(Alert.objects.filter(is_open=True).values_list("pk", flat=True)) == is_open
    Article.objects.filter(alert=draft).update(status=APPROVED)
    assert (sync_open_alerts(), sync_open_alerts()) == (1, 0)
    assert Alert.objects.get(pk=draft).is_open


def test_approving_its_article_opens_it_and_taking_it_off_closes_it() -> None:
    article, editor = scheduled(status=Article.Status.MANUAL_REVIEW, publish_at=soon(hours=5)), make_editor()
    alert = save_alert(article.pk, {"text": TEXT}, by=editor)
    assert not Alert.objects.get().is_open
    approve(article, by=make_editor("bob"))
    publishing.publish_now(Article.objects.get(), by=editor)
    assert Alert.objects.get().is_open
    assert shown_at(read_database_clock()) == [True]
    publishing.unpublish(Article.objects.get(), by=editor)
    assert not Alert.objects.get(pk=alert.pk).is_open


def test_the_next_change_looks_at_no_alert_of_a_draft() -> None:
    def cost() -> int:
        next_change()
        with counted() as steps:
            next_change()
            return steps()

    alert_of(scheduled())
    drafts = Article.objects.bulk_create(
        Article(title=f"Draft {number}", publish_at=soon(hours=1)) for number in range(300)
    )
    few = cost()
    Alert.objects.bulk_create(Alert(article=draft, text=TEXT) for draft in drafts)
    assert cost() > 2 * few
    assert sync_open_alerts() == len(drafts)
    assert cost() < 1.2 * few
    save_alert(make_article("Draft", publish_at=soon(hours=1)).pk, {"text": TEXT}, by=make_editor())
    assert Alert.objects.filter(is_open=True).count() == 1


def test_the_tags_of_an_article_with_an_open_alert_are_those_of_all_pages() -> None:
    article = scheduled(publish_at=soon(minutes=-2))
    assert SITE not in tags_of([article.pk])
    alert = alert_of(article)
    assert SITE in tags_of([article.pk, scheduled().pk])
    Alert.objects.filter(pk=alert.pk).update(is_open=False)
    assert SITE not in tags_of([article.pk])


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


def test_a_form_that_was_opened_before_a_decision_does_not_undo_it(client: Client, settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    article, ann, bob = scheduled(publish_at=soon(minutes=-2)), make_editor("ann"), make_editor("bob")
    alert = alert_of(article)
    address = reverse("admin:articles_alert_change", args=[alert.pk])
    client.force_login(ann)

    def opened() -> dict[str, str]:
        page = client.get(address).text
        sent = dict(re.findall(r'<input type="hidden" name="(initial-enabled)" value="([^"]*)"', page))
        is_on = client.get(address).context["adminform"].form["enabled"].value()
        return {**sent, "text": TEXT, "lasts": "20", **({"enabled": "on"} if is_on else {})}

    was_on = opened()
    assert was_on["initial-enabled"] == "True"
    save_alert(article.pk, {"enabled": False}, by=bob, pk=alert.pk)
    client.post(address, {**was_on, "text": "Something else"})
    assert (state_now(), Alert.objects.get().text) == ("off", "Something else")
    client.post(address, {**opened(), "enabled": "on"})
    assert state_now() == "waits_for_approval"
    waiting = opened()
    approve_by(bob)
    client.post(address, waiting)
    assert state_now() == "live"
    client.post(address, {name: value for name, value in opened().items() if name != "enabled"})
    assert state_now() == "off"


def test_the_form_comes_back_with_what_was_typed_and_the_reason_of_a_refusal(client: Client) -> None:
    SensitiveWord.objects.create(text="secret plot", level=SensitiveWord.Level.BLOCK)
    article = scheduled()
    client.force_login(make_editor())
    sent = {"article": article.pk, "text": "A secret plot", "lasts": "10", "enabled": "on"}
    again = client.post(reverse("admin:articles_alert_add"), sent)
    assert "it may not contain “secret plot”" in again.text and 'value="A secret plot"' in again.text
    assert not Alert.objects.exists()


def test_the_list_reads_the_states_with_its_rows(client: Client) -> None:
    client.force_login(make_editor())
    address = reverse("admin:articles_alert_changelist")

    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert "Scheduled" in client.get(address).text
        return len(queries)

    alert_of(scheduled())
    statements()
    one = statements()
    for _number in range(3):
        alert_of(scheduled())
    assert statements() == one


def test_programs_set_change_and_delete_it() -> None:
    article, client = scheduled(), APIClient()
    client.force_authenticate(make_editor())
    starts_at = "2030-03-10T02:30:00.123456Z"
    made = client.post(ADDRESS, {"article": article.pk, "text": TEXT, "starts_at": starts_at}, format="json")
    assert made.status_code == 201, made.data
    assert (made.data["minutes"], made.data["starts_at"], made.data["begins_at"]) == (20, starts_at, starts_at)
    assert (made.data["state"], made.data["enabled"]) == ("scheduled", True)
    one = f"{ADDRESS}{made.data['id']}/"
    changed = client.patch(one, {"minutes": 60}, format="json")
    assert (changed.status_code, changed.data["minutes"], changed.data["starts_at"]) == (200, 60, starts_at)
    changed = client.patch(one, {"starts_at": None}, format="json")
    assert changed.data["begins_at"] == client.get(f"/api/v1/desk/articles/{article.pk}/").data["publish_at"]
    assert client.patch(one, {"minutes": 7}, format="json").status_code == 400
    off = client.patch(one, {"enabled": False}, format="json")
    assert (off.data["state"], off.data["minutes"]) == ("off", 60)
    assert client.patch(one, {"minutes": 30}, format="json").data["state"] == "off"
    assert client.patch(one, {"enabled": True}, format="json").data["state"] == "scheduled"
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


@pytest.mark.thorough
def test_the_last_twenty_that_a_reader_has_closed_stay_closed(page: Page) -> None:
    alert_of(scheduled(publish_at=soon(minutes=-9)))
    page.goto("/")
    page.evaluate("localStorage.setItem('closed-alerts', JSON.stringify(Array(25).fill('0-0')))")
    close = page.get_by_role("button", name="Close the breaking alert")
    close.click()
    newer = Alert.objects.create(article=scheduled(publish_at=soon(minutes=-3)), text="Ferry sunk")
    page.goto("/search/")
    expect(page.get_by_role("complementary", name="Breaking news")).to_contain_text("Ferry sunk")
    close.click()
    newer.delete()
    page.goto("/search/")
    expect(page.locator(".breaking")).to_be_attached()
    expect(page.locator("[data-alert]")).to_have_count(0)
    assert page.evaluate("JSON.parse(localStorage.getItem('closed-alerts')).length") == 20
