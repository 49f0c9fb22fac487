"""The article admin over HTTP: permissions, forms and transitions."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import User
from django.db.models import Model, ProtectedError
from django.db.models.deletion import Collector
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from articles import publishing
from articles.desk.time_field import ZonedTimeWidget
from articles.exceptions import MOST_LISTED
from articles.limits import BODY_LENGTH
from articles.models import Article, AuditEntry, Channel
from articles.roles import Role
from articles.workflow import Transition
from tests.articles.factories import (
    APPROVED,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_member,
    make_user,
    publish_tasks,
    soon,
)

pytestmark = pytest.mark.django_db

Status = Article.Status
LIST = "/admin/articles/article/"
WRITER = ("add_article", "change_article", "view_article")


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def desk() -> Client:
    return logged_in(make_editor())


def form_of(client: Client, article: Article) -> dict[str, Any]:
    """What a browser would send if the editor changed nothing."""
    form = client.get(form_address(article)).context["adminform"].form
    sent: dict[str, Any] = {}
    for name in form.fields:
        value = form[name].value()
        if isinstance(form.fields[name].widget, ZonedTimeWidget):
            sent[name] = form.fields[name].widget.decompress(value)[0] or ""
        else:
            sent[name] = "" if value in (None, False) else value
    return sent


def form_address(article: Article) -> str:
    return reverse("admin:articles_article_change", args=[article.pk])


def press(client: Client, article: Article, transition: Transition | str, **changes: Any) -> Any:
    """Open the form, change these fields, press a transition's button (default: "_save"), and confirm."""
    button = f"_step_{transition}" if isinstance(transition, Transition) else transition
    return confirmed(client, form_address(article), {**form_of(client, article), **changes, button: "1"})


def confirmed(client: Client, address: str, sent: dict[str, Any]) -> Any:
    """Send a form, and confirm if a confirmation is requested."""
    page = client.post(address, sent, follow=True)
    return client.post(address, response_to(page), follow=True) if is_asked(page) else page


def is_asked(page: Any) -> bool:
    return 'id="confirm"' in page.text


def response_to(page: Any) -> dict[str, list[str]]:
    """The response to the confirmation on this page."""
    fields = re.findall(r'<(?:input type="hidden"|button class="[^"]*") name="(\w+)" value="([^"]*)"', page.text)
    fields += re.findall(r'<textarea [^>]*name="(\w+)"[^>]*>([^<]*)</textarea>', page.text)
    sent: dict[str, list[str]] = {}
    for name, value in fields:
        sent.setdefault(name, []).append(unescape(value))
    return sent


def wall(moment: datetime) -> str:
    return timezone.localtime(moment).replace(tzinfo=None).isoformat(timespec="seconds")


def test_a_new_article_is_a_draft_by_who_writes_it(desk: Client) -> None:
    author = User.objects.get()
    page = desk.get(f"{LIST}add/")
    assert page.context["adminform"].form["author"].value() == str(author.pk)
    desk.post(f"{LIST}add/", {"title": "Ferry strike called off", "author": author.pk, "status": 9, "_save": "1"})
    article = Article.objects.get()
    assert (article.status, article.author, article.slug) == (Status.DRAFT, author, "ferry-strike-called-off")


def test_a_new_article_can_be_submitted_with_the_first_save(desk: Client) -> None:
    desk.post(f"{LIST}add/", {"title": "Ferry strike called off", "_step_submit": "1", "seen": ""})
    assert Article.objects.get().status == Status.MANUAL_REVIEW


def test_an_article_goes_from_draft_to_schedule_by_its_buttons(desk: Client) -> None:
    """R1.1"""
    article, later = make_article(), soon(hours=1).replace(microsecond=0)
    press(desk, article, Transition.SUBMIT, title="A better headline")
    press(logged_in(make_editor("bob")), article, Transition.APPROVE)
    page = press(desk, article, Transition.SCHEDULE, publish_at=wall(later))
    article.refresh_from_db()
    assert (article.title, article.status, article.publish_at) == ("A better headline", Status.MANUALLY_APPROVED, later)
    assert publish_tasks(article) == [later]
    assert "Goes live on" in page.text
    recorded = AuditEntry.objects.of(article).values_list("action", flat=True)
    assert list(recorded) == ["schedule", "approve", "submit", "edit", "create"], "choosing the time is no edit"


def test_saving_a_new_time_of_a_scheduled_article_moves_it(desk: Client) -> None:
    """R1.19"""
    article, moved = make_article(status=APPROVED, publish_at=soon(hours=1)), soon(hours=3).replace(microsecond=0)
    press(desk, article, "_save", publish_at=wall(moved))
    assert publish_tasks(article) == [moved]


def test_saving_the_text_keeps_a_time_that_is_finer_than_the_form_shows(desk: Client) -> None:
    exact = soon(hours=1).replace(microsecond=123456)
    article = make_article(status=APPROVED, publish_at=exact)
    press(desk, article, "_save", title="Only the text")
    assert publish_tasks(article) == [exact]


def test_cancelling_keeps_text_and_approval(desk: Client) -> None:
    """R0.3"""
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    press(desk, article, Transition.UNSCHEDULE, body="The latest text.")
    article.refresh_from_db()
    assert (article.status, article.publish_at, article.body) == (APPROVED, None, "")
    assert article.update.draft is not None
    assert article.update.draft.body == "The latest text."


def test_publishing_unpublishing_and_republishing(desk: Client) -> None:
    """R5.5"""
    article = make_article(status=APPROVED)
    for transition, status in [
        (Transition.PUBLISH_NOW, Status.PUBLISHED),
        (Transition.UNPUBLISH, Status.UNPUBLISHED),
        (Transition.REPUBLISH, Status.PUBLISHED),
    ]:
        press(desk, article, transition)
        assert Article.objects.get().status == status


def test_refusing_takes_a_reason_that_the_author_then_reads(desk: Client) -> None:
    """R5.3"""
    article = make_article(status=Status.MANUAL_REVIEW)
    page = press(desk, article, Transition.REJECT)
    assert is_asked(page)
    assert "Enter feedback" in page.text
    sent = {**response_to(page), "reason": "Names a minor."}
    assert "Names a minor." in desk.post(form_address(article), sent, follow=True).text
    assert Article.objects.get().status == Status.REJECTED
    assert "Names a minor." in desk.get(form_address(article)).text


def test_what_the_services_refuse_comes_back_as_typed_and_saves_nothing(desk: Client) -> None:
    article = make_article(status=APPROVED, embargo_until=soon(hours=1), body="Old.")
    page = press(desk, article, Transition.PUBLISH_NOW, body="Two hours of work.")
    assert "under embargo" in page.text
    assert "Two hours of work." in page.text
    assert Article.objects.values_list("body", "status").get() == ("Old.", APPROVED)


def test_scheduling_without_a_time_asks_for_one(desk: Client) -> None:
    page = press(desk, make_article(status=APPROVED), Transition.SCHEDULE)
    assert "Choose a publish time" in page.text


def test_a_time_in_a_gap_is_explained_and_nothing_is_lost(desk: Client) -> None:
    article = make_article(status=APPROVED)
    with timezone.override(ZoneInfo("Europe/Berlin")):
        page = press(desk, article, Transition.SCHEDULE, publish_at="2030-03-31T02:30", body="Kept.")
        assert "does not exist in Europe/Berlin" in page.text
        assert "Kept." in page.text
        press(desk, article, Transition.SCHEDULE, publish_at="2030-10-27T02:30", publish_at_which="second")
    assert publish_tasks(article) == [datetime(2030, 10, 27, 1, 30, tzinfo=UTC)]


def test_the_second_of_two_editors_is_shown_and_loses_nothing(desk: Client) -> None:
    article = make_article()
    other = {**form_of(desk, article), "title": "Mine", "_save": "1"}
    press(desk, article, "_save", title="Theirs")
    page = desk.post(form_address(article), other)
    assert "The article has been changed since you opened it." in page.text
    assert re.search(r">\s*Mine\s*</textarea>", page.text)
    assert Article.objects.get().title == "Theirs"


def test_a_step_with_a_version_the_editor_has_not_seen_is_refused(desk: Client) -> None:
    article = make_article(status=APPROVED)
    old_form = form_of(desk, article)
    press(desk, article, "_save", body="Something else entirely.")
    desk.post(form_address(article), {**old_form, "_step_publish_now": "1"})
    assert Article.objects.get().status == APPROVED


def test_going_live_while_the_form_is_open_is_no_conflict(desk: Client) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    sent = {**form_of(desk, article), "title": "A better headline", "_save": "1"}
    Article.objects.update(status=Status.PUBLISHED, publish_at=soon(), published_at=soon())
    desk.post(form_address(article), sent)
    assert Article.objects.values_list("update__draft__title", "status").get() == (
        "A better headline",
        Status.PUBLISHED,
    )


def test_a_writer_sees_and_takes_only_their_own_steps() -> None:
    client = logged_in(make_user("bob", *WRITER, "edit_any_article"))
    waiting = make_article(status=APPROVED, publish_at=soon(hours=1))
    page = client.get(form_address(waiting))
    assert re.findall("_step_[a-z_]+", page.text) == ["_step_submit"], "of a newer text"
    assert "publish_at" not in page.context["adminform"].form.fields
    refused = press(client, waiting, Transition.PUBLISH_NOW)
    assert "do not have permission" in refused.text
    press(client, waiting, "_save", title="A better headline", publish_at=wall(soon(hours=5)))
    stored = Article.objects.get()
    assert (stored.status, stored.publish_at) == (APPROVED, waiting.publish_at)
    assert stored.update.draft is not None
    assert stored.update.draft.title == "A better headline"


def test_user_without_permission_sees_no_article() -> None:
    assert logged_in(make_user("bob")).get(LIST).status_code == 403


def test_the_status_cannot_be_typed(desk: Client) -> None:
    article = make_article()
    press(desk, article, "_save", status=9, published_at="2020-01-01")
    assert Article.objects.values_list("status", "published_at").get() == (Status.DRAFT, None)


def test_the_list_names_status_and_zone(desk: Client) -> None:
    make_article(status=APPROVED, publish_at=datetime(2030, 1, 1, 7, tzinfo=UTC))
    with timezone.override(ZoneInfo("Asia/Shanghai")):
        page = desk.get(LIST)
    assert "1 Jan 2030, 15:00:00 UTC+8" in page.text
    assert "Asia/Shanghai (UTC+8)" in page.text
    assert "Approved" in page.text


def test_the_list_takes_as_many_statements_for_many_articles(
    desk: Client, django_assert_max_num_queries: pytest.FixtureRequest
) -> None:
    channel = make_channel()
    Article.objects.bulk_create(Article(title=f"No. {number}", channel=channel) for number in range(60))
    with django_assert_max_num_queries(24):  # type: ignore[operator]
        page = desk.get(LIST)
    assert page.status_code == 200
    assert sum(f">No. {number}<" in page.text for number in range(60)) == 50, "a page of them"


def bulk(client: Client, action: str, *articles: Article, **more: Any) -> Any:
    """Run a bulk action on articles of the list until it is done."""
    chosen = {"action": action, "_selected_action": [article.pk for article in articles]}
    page = client.post(LIST, chosen, follow=True)
    address = page.request["PATH_INFO"]
    if more:
        page = client.post(address, more, follow=True)
    while "data-address" in page.text and "data-finished" not in page.text:
        client.post(f"{address}advance/")
        page = client.get(address)
    return page


def test_a_step_with_many_articles_reports_each_that_cannot_take_it(desk: Client) -> None:
    """R0.8"""
    drafts = [make_article(f"No. {number}") for number in range(3)]
    published = make_article("Out already", status=Status.PUBLISHED)
    page = bulk(desk, "submit", *drafts, published)
    assert "3 articles updated · 1 skipped" in page.text
    assert "Out already" in page.text
    assert "“Submit for review” is not possible" in page.text
    assert Article.objects.filter(status=Status.MANUAL_REVIEW).count() == 3


@pytest.mark.thorough
def test_many_articles_are_scheduled_for_one_time(desk: Client) -> None:
    later = soon(hours=1).replace(microsecond=0)
    articles = [make_article(f"No. {number}", status=APPROVED) for number in range(3)]
    draft = make_article("Not yet")
    assert "Not yet" in bulk(desk, "schedule", *articles, draft).text
    page = bulk(desk, "schedule", *articles, draft, publish_at=wall(later))
    assert "3 articles updated · 1 skipped" in page.text
    assert [publish_tasks(article) for article in articles] == [[later]] * 3


@pytest.mark.parametrize(("action", "response"), [("schedule", {"publish_at": ""}), ("reschedule", {"minutes": ""})])
def test_a_step_with_many_articles_asks_again_for_what_is_missing(
    desk: Client, action: str, response: dict[str, str]
) -> None:
    page = bulk(desk, action, make_article(status=APPROVED), **response)
    assert "This field is required." in page.text


def test_many_articles_are_moved_by_the_same_span(desk: Client) -> None:
    first = soon(hours=1)
    articles = [make_article(f"No. {n}", status=APPROVED, publish_at=first + timedelta(minutes=n)) for n in range(2)]
    draft = make_article("Not yet")
    assert "Minutes" in bulk(desk, "reschedule", *articles, draft).text
    page = bulk(desk, "reschedule", *articles, draft, minutes="30")
    assert "2 articles updated · 1 skipped" in page.text
    assert "“Not yet” is “Draft” and cannot have a time." in page.text
    assert [publish_tasks(article) for article in articles] == [[first + timedelta(minutes=n + 30)] for n in range(2)]


def test_publishing_many_at_once_is_asked_about_first(desk: Client) -> None:
    article = make_article(status=APPROVED)
    assert "This cannot be undone" in bulk(desk, "publish_now", article).text
    assert Article.objects.get().status == APPROVED
    bulk(desk, "publish_now", article, sure="yes")
    assert Article.objects.get().status == Status.PUBLISHED


def test_the_text_that_came_too_late_is_kept_among_the_revisions(desk: Client) -> None:
    article = make_article("Old")
    other = {**form_of(desk, article), "title": "Mine", "_save": "1"}
    press(desk, article, "_save", title="Theirs")
    desk.post(form_address(article), other)
    assert set(article.revisions.values_list("title", flat=True)) == {"Old", "Theirs", "Mine"}


@pytest.mark.thorough
def test_an_update_goes_its_way_by_its_buttons(desk: Client) -> None:
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    press(desk, article, "_save", title="Newer", correction="It was old.")
    assert form_of(desk, article)["title"] == "Newer"
    press(desk, article, Transition.SUBMIT)
    press(logged_in(make_editor("bob")), article, Transition.APPROVE)
    later = soon(hours=1).replace(microsecond=0)
    page = press(desk, article, Transition.SCHEDULE_UPDATE, update_at=wall(later))
    assert "and goes live on" in page.text
    assert Article.objects.values_list("title", "update__publish_at").get() == ("Old", later)
    press(desk, article, Transition.PUBLISH_UPDATE)
    assert Article.objects.values_list("title", "corrections__note").get() == ("Newer", "It was old.")


def test_a_note_without_a_change_is_given_back(desk: Client) -> None:
    article = make_article("Old")
    page = press(desk, article, "_save", note="The mayor called")
    assert "The note was not saved, as the text is unchanged: The mayor called" in unescape(page.text)
    page = press(desk, article, Transition.SUBMIT, note="The mayor called", publish_at=wall(soon(hours=5)))
    assert "The note was not saved" in page.text, "the revision of the time has a note of its own"
    page = press(desk, article, "_save", note="The mayor called", title="New")
    assert "The note was not saved" not in page.text
    page = press(desk, article, "_save", note="The mayor called", title="New")
    assert "The note was not saved" in page.text


def test_a_correction_can_be_submitted_with_the_save_that_writes_it(desk: Client) -> None:
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    page = press(desk, article, Transition.SUBMIT)
    assert "is not possible" in page.text, "nothing is new yet"
    page = press(desk, article, Transition.SUBMIT, title="Newer", correction="It was old.")
    assert "_step_submit" not in page.text, "it is in review"
    stored = Article.objects.get()
    assert (stored.title, stored.update.status) == ("Old", Status.MANUAL_REVIEW)


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "transition, status", [(Transition.UNPUBLISH, Status.UNPUBLISHED), (Transition.RETRACT, Status.RETRACTED)]
)
def test_what_is_out_is_taken_away_although_a_correction_went_live_since(
    desk: Client, transition: Transition, status: int
) -> None:
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    press(desk, article, Transition.SUBMIT, title="Newer")
    press(logged_in(make_editor("bob")), article, Transition.APPROVE)
    old_form = {**form_of(desk, article), "reason": "It is wrong.", f"_step_{transition}": "1"}
    press(desk, article, Transition.PUBLISH_UPDATE)
    confirmed(desk, form_address(article), old_form)
    assert Article.objects.values_list("title", "status").get() == ("Newer", status)


@pytest.mark.thorough
def test_who_only_reads_the_text_schedules_a_correction_of_it(desk: Client) -> None:
    article = make_article("Old", body="Old.", status=Status.PUBLISHED, publish_at=soon(hours=-1))
    press(desk, article, Transition.SUBMIT, body="<p>Newer.</p>")
    press(logged_in(make_editor("bob")), article, Transition.APPROVE)
    publisher, later = logged_in(make_member(Role.PUBLISHER)), soon(hours=1).replace(microsecond=0)
    assert not {"body", "cover"} & form_of(publisher, article).keys()
    press(publisher, article, Transition.SCHEDULE_UPDATE, update_at=wall(later))
    assert Article.objects.get().update.publish_at == later


def test_who_only_reads_an_article_sees_one_text_of_it_and_is_shown_which(desk: Client) -> None:
    old = {"title": "Old", "summary": "Old summary.", "body": "Old body."}
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1), **old)
    press(desk, article, Transition.SUBMIT, title="Newer", summary="Newer summary.", body="<p>Newer body.</p>")
    page = logged_in(make_member(Role.PUBLISHER)).get(form_address(article)).text
    assert re.search(r'class="readonly[^>]*>\s*Newer\s*<', page)
    assert "Newer summary." in page and "Newer body." in page
    assert "Old summary." not in page and "Old body." not in page
    assert "You are editing revision 2. Live revision: 1." in page


def test_retracting_takes_a_notice(desk: Client) -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1))
    assert "Enter the retraction notice that readers see" in press(desk, article, Transition.RETRACT).text
    assert Article.objects.get().status == Status.PUBLISHED
    press(desk, article, Transition.RETRACT, reason="The story was invented.")
    assert Article.objects.values_list("status", "retraction_notice").get() == (
        Status.RETRACTED,
        "The story was invented.",
    )


def test_the_embargo_is_shown_to_who_may_lift_it(desk: Client) -> None:
    article = make_article()
    assert "embargo_until" in form_of(desk, article)
    clerk = logged_in(make_user("bob", *WRITER, "edit_any_article", "schedule_article"))
    assert "embargo_until" not in form_of(clerk, article)
    press(clerk, article, "_save", title="Newer", embargo_until=wall(soon(hours=1)))
    assert Article.objects.get().embargo_until is None


def test_deleting_in_bulk_takes_the_tasks_along(desk: Client) -> None:
    """R1.19"""
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    desk.post(LIST, {"action": "delete_selected", "_selected_action": [article.pk], "post": "yes"})
    assert not Article.objects.exists()
    assert publish_tasks(article) == []


def test_a_writer_is_not_offered_what_they_may_not_do() -> None:
    client = logged_in(make_user("bob", *WRITER))
    make_article()
    offered = {name for name, _ in client.get(LIST).context["action_form"].fields["action"].choices}
    assert offered >= {"submit"}
    assert not offered & {"approve", "schedule", "publish_now", "unpublish", "republish"}


@pytest.mark.parametrize("year", ["0001", "0999", "9999"])
def test_a_time_that_no_task_can_have_is_refused_when_it_is_typed(desk: Client, year: str) -> None:
    page = desk.post(f"{LIST}add/", {"title": "Old", "publish_at": f"{year}-12-31T00:00", "author": ""})
    assert "1000 to 9999" in page.text
    assert not Article.objects.exists()


def test_a_channel_in_use_is_neither_disabled_nor_deleted(desk: Client) -> None:
    """R5.6"""
    channel = make_channel()
    make_article(channel=channel)
    address = reverse("admin:articles_channel_change", args=[channel.pk])
    page = desk.post(address, {"name": "Politics", "slug": "politics", "position": 0})
    assert "This channel has articles" in page.text
    desk.post(reverse("admin:articles_channel_delete", args=[channel.pk]), {"post": "yes"})
    assert Channel.objects.get().enabled


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_approved", [False, True])
def test_a_channel_that_a_newer_text_names_is_neither_disabled_nor_deleted(desk: Client, is_approved: bool) -> None:
    """R5.6"""
    channel, alice = make_channel(), User.objects.get()
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    publishing.edit(article, by=alice, changes={"channel": channel})
    if is_approved:
        publishing.submit(article, by=alice)
        approve(article)
    address = reverse("admin:articles_channel_change", args=[channel.pk])
    page = desk.post(address, {"name": "Politics", "slug": "politics", "position": 0})
    assert "This channel has articles" in page.text
    page = desk.post(reverse("admin:articles_channel_delete", args=[channel.pk]), {"post": "yes"})
    assert article.title in page.text, "it is named"
    chosen = {"action": "delete_selected", "_selected_action": [channel.pk], "post": "yes"}
    desk.post(reverse("admin:articles_channel_changelist"), chosen)
    with pytest.raises(ProtectedError):
        Channel.objects.all().delete()
    assert Channel.objects.get().enabled


def test_the_first_articles_that_keep_a_channel_are_named(desk: Client) -> None:
    channel = make_channel()
    for number in range(MOST_LISTED + 2):
        make_article(f"Story {number}", channel=channel)
    page = desk.get(reverse("admin:articles_channel_delete", args=[channel.pk]))
    assert page.text.count(">Story ") == MOST_LISTED


@pytest.mark.parametrize("kind", ["article", "channel", "user"])
def test_the_page_before_a_deletion_does_not_read_all_that_goes_with_it(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    channel = make_channel()
    some: dict[str, Model] = {"article": make_article(channel=channel), "channel": channel, "user": make_user("bob")}
    asked = some[kind]
    monkeypatch.setattr(Collector, "collect", None)
    address = reverse(f"admin:{asked._meta.app_label}_{kind}_delete", args=[asked.pk])
    assert str(asked) in admin_client.get(address).text


def test_history_does_not_keep_a_channel(desk: Client) -> None:
    """R5.6"""
    channel, alice = make_channel(), User.objects.get()
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    publishing.edit(article, by=alice, changes={"channel": channel})
    publishing.discard_update(article, by=alice)
    desk.post(reverse("admin:articles_channel_delete", args=[channel.pk]), {"post": "yes"})
    assert not Channel.objects.exists()
    assert article.revisions.latest("number").channel is None


def test_an_unused_channel_is_disabled_and_deleted(desk: Client) -> None:
    """R5.6"""
    channel = make_channel()
    desk.post(
        reverse("admin:articles_channel_change", args=[channel.pk]), {"name": "Politics", "slug": "p", "position": 3}
    )
    assert Channel.objects.values_list("enabled", "position").get() == (False, 3)
    desk.post(reverse("admin:articles_channel_delete", args=[channel.pk]), {"post": "yes"})
    assert not Channel.objects.exists()


def test_two_channels_do_not_share_a_name(desk: Client) -> None:
    """R5.6"""
    make_channel()
    page = desk.post("/admin/articles/channel/add/", {"name": "Politics", "slug": "other", "position": 0})
    assert "already exists" in page.text


def test_a_channel_whose_name_makes_no_address_gets_one(desk: Client, client: Client) -> None:
    desk.post("/admin/articles/channel/add/", {"name": "🔥!", "slug": "", "position": 0, "enabled": "on"})
    assert client.get("/").status_code == 200
    assert client.get(Channel.objects.get().get_absolute_url()).status_code == 200


@pytest.mark.parametrize("noun", ["channel", "tag"])
def test_two_names_that_make_one_address_are_shown_so(admin_client: Client, noun: str) -> None:
    address = f"/admin/articles/{noun}/add/"
    admin_client.post(address, {"name": "C", "slug": "", "position": 0})
    page = admin_client.post(address, {"name": "C++", "slug": "", "position": 0})
    assert "already exists" in page.text


def test_a_disabled_channel_is_not_offered(desk: Client) -> None:
    """R5.6"""
    make_channel("Old", enabled=False)
    make_channel("New")
    field = desk.get(f"{LIST}add/").context["adminform"].form.fields["channel"]
    assert [str(channel) for channel in field.queryset] == ["New"]


def test_a_live_article_links_to_its_page_and_a_waiting_one_does_not(desk: Client) -> None:
    live = make_article("Out", status=APPROVED, publish_at=soon(hours=-1))
    waiting = make_article("Waiting", status=APPROVED, publish_at=soon(hours=1))
    assert live.get_absolute_url() in desk.get(form_address(live)).text
    assert waiting.get_absolute_url() not in desk.get(form_address(waiting)).text


def test_the_form_says_what_happens_next(desk: Client) -> None:
    sentences = {
        make_article("1"): "Submit it when it is ready",
        make_article("2", status=Status.MANUAL_REVIEW): "A reviewer has to decide",
        make_article("3", status=APPROVED): "not scheduled",
        make_article("4", status=APPROVED, publish_at=soon() + timedelta(hours=1)): "Goes live on",
        make_article("5", status=APPROVED, publish_at=soon(hours=-1)): "No worker has recorded it yet",
        make_article("6", status=Status.PUBLISHED, publish_at=soon(), published_at=soon()): "Went live on",
        make_article("7", status=Status.UNPUBLISHED): "Readers no longer see it",
    }
    for article, sentence in sentences.items():
        assert sentence in desk.get(form_address(article)).text


def test_the_users_screens_open() -> None:
    client = logged_in(make_user("root", is_superuser=True))
    root = User.objects.get()
    for address in (
        "user/",
        "user/add/",
        f"user/{root.pk}/change/",
        f"user/{root.pk}/password/",
        "group/",
        "group/add/",
    ):
        assert client.get(f"/admin/auth/{address}").status_code == 200


FORM = "application/x-www-form-urlencoded"


def test_a_text_as_long_as_may_be_is_saved_and_one_too_long_comes_back(desk: Client) -> None:
    typed = {"title": "Novel", "slug": "novel", "_save": "1"}
    longest, too_long = "澜" * BODY_LENGTH, "x" * 10_000_000
    page = desk.post("/admin/articles/article/add/", urlencode({**typed, "body": too_long}), content_type=FORM)
    assert "at most 1000000 characters (it has 10000000)" in page.text
    assert too_long in page.text, "nothing that was typed is lost"
    desk.post("/admin/articles/article/add/", urlencode({**typed, "body": longest}), content_type=FORM)
    assert Article.objects.get().body == longest


def test_an_editor_finds_authors_without_the_right_to_look_at_users() -> None:
    make_user("wen")
    asked = {"app_label": "articles", "model_name": "article", "field_name": "author", "term": "wen"}
    editor, author = logged_in(make_member(Role.EDITOR)), logged_in(make_member(Role.AUTHOR))
    assert [found["text"] for found in editor.get("/admin/autocomplete/", asked).json()["results"]] == ["wen"]
    assert author.get("/admin/autocomplete/", asked).status_code == 403
    assert editor.get("/admin/auth/user/").status_code == 403


def test_deleting_an_article_names_it_and_no_rows_of_tables(desk: Client) -> None:
    article = make_article("Ferry")
    article.tags.create(name="ferries")
    page = desk.get(f"{LIST}{article.pk}/delete/")
    assert "Ferry" in page.text
    assert "relationship" not in page.text
