"""Bulk actions: chunks, refused articles, and undo."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect

from articles import publishing
from articles.exceptions import ChangedSince, InvalidSchedule, NotAllowed
from articles.models import Article, AuditEntry, BulkAction, BulkActionItem
from articles.publishing import bulk, transitions, undo
from articles.roles import Role
from articles.task_types import BULK_ACTION
from articles.workflow import Transition
from scheduling.models import TaskInfo
from scheduling.workers.side_effects import run_side_effects
from tests.articles.browsers import sign_in
from tests.articles.factories import (
    APPROVED,
    EARLY,
    make_article,
    make_editor,
    make_member,
    make_user,
    publish_tasks,
    soon,
)
from tests.conftest import Site

pytestmark = pytest.mark.django_db

Status = Article.Status
LIST = "/admin/articles/article/"


@pytest.fixture
def alice() -> User:
    return make_editor()


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def do(by: User, transition: Transition, *articles: Article, **parameters: Any) -> BulkAction:
    """Run a bulk action to its end."""
    bulk_action = bulk.gather_articles(transition, [(article.pk, article.title) for article in articles], by=by)
    bulk.start_bulk_action(bulk_action, **parameters)
    return finished(bulk_action)


def finished(bulk_action: BulkAction) -> BulkAction:
    while bulk.advance_bulk_action(bulk_action.pk):
        pass
    bulk_action.refresh_from_db()
    assert bulk_action.finished_at is not None
    return bulk_action


def take_back(bulk_action: BulkAction) -> BulkAction:
    return finished(bulk.undo_bulk_action(bulk_action, by=bulk_action.user))


def refusals(bulk_action: BulkAction) -> dict[str, str]:
    return dict(bulk_action.items.filter(state=BulkActionItem.State.REFUSED).values_list("title", "reason"))


def some(number: int = 3, **values: Any) -> list[Article]:
    return [make_article(f"No. {count}", **values) for count in range(number)]


def states(*articles: Article) -> list[tuple[int, Any]]:
    rows = Article.objects.filter(pk__in=[article.pk for article in articles]).order_by("pk")
    return list(rows.values_list("status", "publish_at"))


def test_a_bulk_action_is_done_in_chunks_and_names_each_refused_article(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R0.8"""
    monkeypatch.setattr(bulk, "CHUNK", 2)
    drafts, published = some(), make_article("Out already", status=Status.PUBLISHED)
    bulk_action = bulk.gather_articles(
        Transition.SUBMIT, [(one.pk, one.title) for one in (*drafts, published)], by=alice
    )
    bulk.start_bulk_action(bulk_action)
    assert bulk.advance_bulk_action(bulk_action.pk)
    assert Article.objects.filter(status=Status.MANUAL_REVIEW).count() == 2
    finished(bulk_action)
    assert bulk_action.counts() == {"total": 4, "done": 3, "refused": 1}
    assert "“Submit for review” is not possible" in refusals(bulk_action)["Out already"]


def test_an_article_that_is_gone_is_named(alice: User) -> None:
    gone, there = some(2)
    bulk_action = bulk.gather_articles(Transition.SUBMIT, [(gone.pk, gone.title), (there.pk, there.title)], by=alice)
    bulk.start_bulk_action(bulk_action)
    gone.delete()
    assert refusals(finished(bulk_action)) == {"No. 0": "The article has been deleted."}


def test_each_article_is_authorised_and_recorded_as_if_alone() -> None:
    author = make_member(Role.AUTHOR)
    mine, theirs = make_article("Mine", author=author), make_article("Theirs")
    bulk_action = do(author, Transition.SUBMIT, mine, theirs)
    assert refusals(bulk_action) == {"Theirs": "This is another user’s article; you may change your own."}
    entry = AuditEntry.objects.of(mine).first()
    assert entry is not None
    assert (entry.action, entry.source, entry.user_id) == (Transition.SUBMIT, AuditEntry.Source.ADMIN, author.pk)


def test_a_permission_that_is_removed_during_it_is_missing(alice: User) -> None:
    articles = some(status=APPROVED)
    bulk_action = bulk.gather_articles(Transition.SCHEDULE, [(one.pk, one.title) for one in articles], by=alice)
    bulk.start_bulk_action(bulk_action, publish_at=soon(hours=1))
    alice.user_permissions.clear()
    assert len(refusals(finished(bulk_action))) == 3


def test_a_user_without_the_permission_creates_no_bulk_action() -> None:
    with pytest.raises(NotAllowed):
        bulk.gather_articles(Transition.SCHEDULE, [], by=make_member(Role.AUTHOR))


def test_a_worker_goes_on_when_the_page_is_left(alice: User) -> None:
    articles = some(status=APPROVED)
    bulk_action = bulk.gather_articles(Transition.SCHEDULE, [(one.pk, one.title) for one in articles], by=alice)
    bulk.start_bulk_action(bulk_action, publish_at=soon(hours=1))
    run_side_effects([BULK_ACTION])
    bulk_action.refresh_from_db()
    assert bulk_action.finished_at is not None
    assert all(len(publish_tasks(article)) == 1 for article in articles)


def test_a_worker_lets_others_have_their_turn(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "SHARE", -1)
    monkeypatch.setattr(bulk, "CHUNK", 1)
    bulk_action = bulk.gather_articles(Transition.SUBMIT, [(one.pk, one.title) for one in some()], by=alice)
    bulk.start_bulk_action(bulk_action)
    bulk.run_bulk_action(bulk_action.pk)
    assert bulk_action.counts()["done"] == 1
    assert TaskInfo.objects.filter(task_type=BULK_ACTION, key=f"{bulk_action.pk}:1").exists()


def test_a_bulk_action_that_was_done_is_not_done_again(alice: User) -> None:
    bulk_action = do(alice, Transition.SUBMIT, *some())
    entries = AuditEntry.objects.count()
    bulk.start_bulk_action(bulk_action)
    assert not bulk.advance_bulk_action(bulk_action.pk)
    assert AuditEntry.objects.count() == entries


@pytest.mark.cases(4)
@pytest.mark.parametrize(
    ("transition", "values", "parameters"),
    [
        (Transition.SUBMIT, {"status": Status.DRAFT}, {}),
        (Transition.APPROVE, {"status": Status.MANUAL_REVIEW, "status_reason": "Unsure."}, {}),
        (Transition.SCHEDULE, {"status": APPROVED}, {"publish_at": True}),
        (Transition.SCHEDULE, {"status": APPROVED, "publish_at": True}, {"publish_at": True}),
        (Transition.RESCHEDULE, {"status": APPROVED, "publish_at": True}, {"minutes": 30}),
        (Transition.UNSCHEDULE, {"status": APPROVED, "publish_at": True}, {}),
        (Transition.UNPUBLISH, {"status": Status.PUBLISHED}, {}),
        (Transition.REPUBLISH, {"status": Status.UNPUBLISHED}, {}),
    ],
)
def test_what_was_done_is_undone(
    alice: User, transition: Transition, values: dict[str, Any], parameters: dict[str, Any]
) -> None:
    if "publish_at" in values:
        values = {**values, "publish_at": soon(hours=2)}
    if "publish_at" in parameters:
        parameters = {"publish_at": soon(hours=1)}
    articles = some(**values)
    before = states(*articles)
    bulk_action = do(alice, transition, *articles, **parameters)
    assert states(*articles) != before
    undone = take_back(bulk_action)
    assert refusals(undone) == {}
    assert states(*articles) == before
    assert {row.status_reason for row in Article.objects.all()} == {values.get("status_reason", "")}
    times = [moment for status, moment in before if status in Status.waiting() and moment]
    assert [task for article in articles for task in publish_tasks(article)] == times
    assert AuditEntry.objects.filter(action="undone", user_id=alice.pk).count() == 3


def test_articles_changed_since_are_left_and_named(alice: User) -> None:
    articles = some(status=APPROVED)
    bulk_action = do(alice, Transition.SCHEDULE, *articles, publish_at=soon(hours=1))
    later = soon(hours=5)
    publishing.schedule(articles[1], publish_at=later, by=alice)
    Article.objects.filter(pk=articles[2].pk).update(publish_at=later)
    undone = take_back(bulk_action)
    reason = "The article has been changed since."
    assert refusals(undone) == {"No. 1": reason, "No. 2": reason}
    assert [moment for _status, moment in states(*articles)] == [None, later, later]


def test_what_went_live_since_is_not_undone(alice: User) -> None:
    article = make_article("Out", status=APPROVED)
    bulk_action = do(alice, Transition.SCHEDULE, article, publish_at=soon(seconds=-1))
    assert refusals(take_back(bulk_action)) == {"Out": "The article has gone live."}


def test_an_embargo_that_another_program_has_set_since_is_not_lifted(alice: User) -> None:
    (article,) = some(1, status=APPROVED, publish_at=soon(hours=1))
    bulk_action = do(alice, Transition.UNSCHEDULE, article)
    Article.objects.filter(pk=article.pk).update(embargo_until=soon(days=1))
    assert len(refusals(take_back(bulk_action))) == 1
    assert Article.objects.get().embargo_until is not None


def test_an_end_that_another_program_has_set_since_is_kept(alice: User) -> None:
    (article,) = some(1, status=APPROVED, publish_at=soon(hours=1))
    bulk_action = do(alice, Transition.UNSCHEDULE, article)
    Article.objects.filter(pk=article.pk).update(unpublish_at=soon(days=1))
    assert len(refusals(take_back(bulk_action))) == 1
    assert Article.objects.get().unpublish_at is not None


def test_undoing_the_republication_of_an_article_gives_its_end_back(alice: User) -> None:
    over = soon(hours=-1)
    article = make_article(status=Status.UNPUBLISHED, publish_at=soon(hours=-2), unpublish_at=over)
    bulk_action = do(alice, Transition.REPUBLISH, article)
    assert Article.objects.get().unpublish_at is None
    assert not refusals(take_back(bulk_action))
    assert Article.objects.get().unpublish_at == over


def test_a_time_that_is_past_by_now_is_not_given_back(alice: User) -> None:
    article = make_article("Missed", status=APPROVED, publish_at=soon(hours=1))
    bulk_action = do(alice, Transition.UNSCHEDULE, article)
    before = {**bulk_action.items.get().before, "publish_at": soon(hours=-1).isoformat()}
    bulk_action.items.update(before=before)
    assert refusals(take_back(bulk_action)) == {"Missed": "The time it had is past."}
    assert states(article) == [(APPROVED, None)]


def test_publishing_at_once_cannot_be_undone(alice: User) -> None:
    bulk_action = do(alice, Transition.PUBLISH_NOW, *some(status=APPROVED))
    page = logged_in(alice).post(f"/admin/desk/bulk-actions/{bulk_action.pk}/undo/", follow=True)
    assert "This can no longer be undone here." in page.text
    assert Article.objects.filter(status=Status.PUBLISHED).count() == 3


def test_undoing_is_possible_for_a_while_and_once(alice: User) -> None:
    bulk_action = do(alice, Transition.SUBMIT, *some())
    assert bulk.undo_bulk_action(bulk_action, by=alice) == bulk.undo_bulk_action(bulk_action, by=alice)
    late = do(alice, Transition.APPROVE, make_article("Late", status=Status.MANUAL_REVIEW))
    BulkAction.objects.filter(pk=late.pk).update(finished_at=soon(hours=-2))
    late.refresh_from_db()
    assert not bulk.may_be_undone(late, soon())


def test_no_one_sees_or_runs_the_bulk_actions_of_others(alice: User) -> None:
    bulk_action = do(alice, Transition.SUBMIT, *some())
    other = logged_in(make_user("admin", is_superuser=True))
    assert other.get(f"/admin/desk/bulk-actions/{bulk_action.pk}/").status_code == 404
    assert other.post(f"/admin/desk/bulk-actions/{bulk_action.pk}/advance/").status_code == 404
    assert other.post(f"/admin/desk/bulk-actions/{bulk_action.pk}/undo/").status_code == 404


def test_articles_are_not_scheduled_without_a_time(alice: User) -> None:
    articles = [(one.pk, one.title) for one in some(status=APPROVED)]
    bulk_action = bulk.gather_articles(Transition.SCHEDULE, articles, by=alice)
    sent = {"publish_at_zone": "UTC", "publish_at": ""}
    page = logged_in(alice).post(f"/admin/desk/bulk-actions/{bulk_action.pk}/", sent)
    assert "This field is required." in page.text
    with pytest.raises(InvalidSchedule):
        bulk.start_bulk_action(bulk_action)
    bulk_action.refresh_from_db()
    assert bulk_action.started_at is None


def test_more_than_can_be_are_refused_at_once(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST_BULK", 2)
    chosen = {"action": "submit", "_selected_action": [one.pk for one in some()]}
    assert "Choose at most 2 articles at once." in logged_in(alice).post(LIST, chosen, follow=True).text


def test_outdated_bulk_actions_are_deleted(alice: User) -> None:
    kept, forgotten, old = (
        do(alice, Transition.SUBMIT),
        bulk.gather_articles(Transition.SUBMIT, [], by=alice),
        do(alice, Transition.SUBMIT),
    )
    BulkAction.objects.filter(pk=forgotten.pk).update(created_at=soon(days=-2))
    BulkAction.objects.filter(pk=old.pk).update(created_at=soon(days=-31))
    new = bulk.gather_articles(Transition.SUBMIT, [], by=alice)
    assert set(BulkAction.objects.all()) == {kept, new}


def test_the_list_links_to_a_running_bulk_action(alice: User) -> None:
    bulk_action = bulk.gather_articles(Transition.SUBMIT, [(one.pk, one.title) for one in some()], by=alice)
    bulk.start_bulk_action(bulk_action)
    desk = logged_in(alice)
    assert "“Submit for review” is running." in desk.get(LIST).text
    finished(bulk_action)
    assert "is complete and can be undone" in desk.get(LIST).text
    take_back(bulk_action)
    assert "can be undone" not in desk.get(LIST).text
    assert "Undo: Submit for review" in desk.get("/admin/desk/bulk-actions/").text


def test_without_scripts_buttons_lead_through_a_bulk_action_and_its_undo(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 2)
    monkeypatch.setattr(bulk, "LARGE_CHUNK", 2)
    desk, due = logged_in(alice), soon(hours=2).replace(microsecond=0)
    chosen = {"action": "schedule", "_selected_action": [one.pk for one in some(status=APPROVED)]}
    question = desk.post(LIST, chosen)
    address = question.headers["Location"]
    assert "3 articles selected:" in desk.get(address).text
    wall = f"{timezone.localtime(due):%Y-%m-%dT%H:%M:%S}"
    page = desk.post(address, {"publish_at": wall}, follow=True)
    for said in ("0 of 3", "2 of 3"):
        assert said in page.text
        assert f'action="{address}advance/"' in page.text
        page = desk.post(f"{address}advance/", follow=True)
        assert "<html" in page.text
    assert "3 articles updated" in page.text
    assert publish_tasks(Article.objects.all()[0]) == [due]
    page = desk.post(f"{address}undo/", follow=True)
    while "Continue" in page.text:
        page = desk.post(f"{page.request['PATH_INFO']}advance/", follow=True)
    assert not TaskInfo.objects.filter(task_type="articles.publish").exists()


def test_the_script_of_a_bulk_action_gets_the_inside_of_its_page(alice: User) -> None:
    bulk_action = bulk.gather_articles(Transition.SUBMIT, [(one.pk, one.title) for one in some()], by=alice)
    bulk.start_bulk_action(bulk_action)
    response = logged_in(alice).post(
        f"/admin/desk/bulk-actions/{bulk_action.pk}/advance/", headers={"x-requested-with": "fetch"}
    )
    assert "3 articles updated" in response.text
    assert "<html" not in response.text


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_without_scripts_the_list_shows_what_can_be_done_with_the_chosen(browser: Browser, site: Site) -> None:
    admin = make_user("admin", is_superuser=True)
    make_article("Bridge")
    with browser.new_context(base_url=site.url, java_script_enabled=False, locale="en-US") as context:
        session = logged_in(admin).cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": session, "url": site.url}])
        page = context.new_page()
        page.goto(LIST)
        page.locator("[name=_selected_action]").check()
        page.locator("select[name=action]").select_option("submit")
        page.get_by_role("button", name="Run").click()
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("1 article updated").first).to_be_visible()


@pytest.mark.django_db(transaction=True)
def test_a_worker_does_not_press_while_the_page_works_on_a_bulk_action(monkeypatch: pytest.MonkeyPatch) -> None:
    bulk_action = bulk.gather_articles(Transition.SUBMIT, [(make_article().pk, "One")], by=make_editor())
    bulk.start_bulk_action(bulk_action)
    asked: list[int] = []

    def busy(bulk_action_id: int) -> bool:
        asked.append(bulk_action_id)
        return True

    monkeypatch.setattr(bulk, "advance_bulk_action", busy)
    monkeypatch.setattr(bulk, "SHARE", 0.2)
    bulk.run_bulk_action(bulk_action.pk)
    assert len(asked) <= 0.2 / bulk.PAUSE + 2


def test_an_editor_schedules_many_watches_the_progress_and_undoes_it(page: Page) -> None:
    make_user("alice", is_superuser=True)
    for number in range(25):
        make_article(f"No. {number}", status=APPROVED)
    make_article("Not yet")
    due = timezone.localtime(soon(hours=2) + timedelta(minutes=1))
    sign_in(page)
    page.goto("/admin/articles/article/")
    page.locator("#action-toggle").check()
    page.locator("select[name=action]").select_option("schedule")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text("26 articles selected:")).to_be_visible()
    page.get_by_label("Publish at").fill(f"{due:%Y-%m-%dT%H:%M:00}")
    page.get_by_role("button", name="Schedule").click()
    expect(page.get_by_text("25 articles updated · 1 skipped").first).to_be_visible()
    expect(page.get_by_role("progressbar")).to_have_attribute("value", "26")
    expect(page.get_by_role("link", name="Not yet")).to_be_visible()
    assert TaskInfo.objects.filter(task_type="articles.publish").count() == 25
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("25 articles updated").first).to_be_visible()
    assert not TaskInfo.objects.filter(task_type="articles.publish").exists()


@pytest.mark.cases(1)
@pytest.mark.parametrize("transition", [Transition.SCHEDULE, Transition.RESCHEDULE])
def test_a_time_is_set_by_a_few_statements_for_all(
    alice: User, transition: Transition, django_assert_max_num_queries: Any
) -> None:
    old, moment = soon(hours=2), soon(hours=5)
    articles = some(12, status=APPROVED, publish_at=old)
    bulk_action = bulk.gather_articles(transition, [(one.pk, one.title) for one in articles], by=alice)
    given = {"publish_at": moment} if transition is Transition.SCHEDULE else {"minutes": 180}
    bulk.start_bulk_action(bulk_action, **given)
    with django_assert_max_num_queries(30):
        finished(bulk_action)
    expected = moment if transition is Transition.SCHEDULE else old + timedelta(hours=3)
    assert all(publish_tasks(article) == [expected] for article in articles)
    assert AuditEntry.objects.filter(action=transition).count() == 12
    take_back(bulk_action)
    assert all(publish_tasks(article) == [old] for article in articles)


def test_one_refused_article_keeps_no_other_from_its_new_time(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK", 2)
    monkeypatch.setattr(bulk, "LARGE_CHUNK", 4)
    articles, moment = some(9, status=APPROVED), soon(hours=5)
    Article.objects.filter(pk=articles[1].pk).update(status=Status.DRAFT)
    bulk_action = do(alice, Transition.SCHEDULE, *articles, publish_at=moment)
    assert list(refusals(bulk_action)) == ["No. 1"]
    assert [publish_tasks(article) for article in articles] == [[] if number == 1 else [moment] for number in range(9)]


@pytest.mark.parametrize("transition", [Transition.SUBMIT, Transition.SCHEDULE])
def test_one_failing_article_keeps_no_other_from_its_change(
    alice: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, transition: Transition
) -> None:
    is_schedule = transition is Transition.SCHEDULE
    articles = some(3, status=APPROVED if is_schedule else Status.DRAFT)

    def perform(transition: Transition, article: Article, **given: Any) -> None:
        if article.pk == articles[1].pk:
            raise KeyError("cover")
        transitions.perform(transition, article, **given)

    def schedule_many(found: Any, **given: Any) -> int:
        raise KeyError("cover")

    monkeypatch.setattr(bulk, "perform", perform)
    monkeypatch.setitem(bulk._TOGETHER, Transition.SCHEDULE, schedule_many)
    bulk_action = do(alice, transition, *articles, **({"publish_at": soon(hours=5)} if is_schedule else {}))
    assert bulk_action.counts() == {"total": 3, "done": 2, "refused": 1}
    assert "Ask an administrator" in refusals(bulk_action)["No. 1"]
    assert f"bulk action {bulk_action.pk}: article {articles[1].pk}" in caplog.text
    assert ("3 articles together" in caplog.text) == is_schedule


def test_a_lost_connection_is_not_taken_for_a_fault_of_the_article(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform(*args: Any, **given: Any) -> None:
        raise OperationalError(2013, "Lost connection to server during query")

    with monkeypatch.context() as patched:
        patched.setattr(bulk, "perform", perform)
        with pytest.raises(OperationalError):
            do(alice, Transition.SUBMIT, *some(2))
    assert finished(BulkAction.objects.get()).counts() == {"total": 2, "done": 2, "refused": 0}


@pytest.mark.parametrize("transition", [Transition.UNPUBLISH, Transition.REPUBLISH])
def test_undo_goes_back_to_what_readers_saw_though_no_worker_had_recorded_it(
    alice: User, transition: Transition
) -> None:
    times = {"publish_at": soon(hours=-1), "cleared_at": EARLY}
    if transition is Transition.REPUBLISH:
        times["unpublish_at"] = soon(minutes=-1)
    article = make_article("Flash sale", status=APPROVED, **times)
    seen = Article.objects.live(soon()).filter(pk=article.pk)
    was_seen = seen.exists()
    done = do(alice, transition, article)
    assert (refusals(done), seen.exists()) == ({}, not was_seen)
    assert refusals(take_back(done)) == {}
    assert seen.exists() == was_seen


def test_nothing_is_undone_of_what_has_left_the_site_at_its_time_since(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = {"publish_at": soon(hours=-1), "published_at": soon(hours=-1), "unpublish_at": soon(hours=1)}
    done = do(alice, Transition.REPUBLISH, make_article("Flash sale", status=Status.UNPUBLISHED, **times))
    monkeypatch.setattr(undo, "read_database_clock", lambda: soon(hours=2))
    assert refusals(take_back(done)) == {"Flash sale": str(ChangedSince())}
