"""Revisions: the approved text goes live, whatever is written later."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from articles import publishing
from articles.exceptions import (
    EditConflict,
    InvalidSchedule,
    NotAllowed,
    NotRescheduled,
    RetractionNoticeMissing,
    RevisionChanged,
    RevisionGone,
    TooLong,
    UnderEmbargo,
    WrongState,
)
from articles.limits import BODY_LENGTH
from articles.models import Article, AuditEntry, Channel, Notification, Revision, Tag, Text, Update
from articles.models.revision import Immutable
from articles.publishing.tags import rename_tag
from articles.task_types import UPDATE
from articles.text import compare_bodies, split
from articles.text.diff import Change, Piece, words
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.services import refresh, run_due
from tests.articles.factories import (
    APPROVED,
    EARLY,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_user,
    publish_tasks,
    soon,
)

pytestmark = pytest.mark.django_db

Status = Article.Status


@pytest.fixture
def editor() -> User:
    return make_editor()


def rewrite(article: Article, editor: User, title: str = "Newer", correction: str = "") -> None:
    publishing.edit(article, by=editor, changes={"title": title}, correction=correction)


def get_approved(article: Article, editor: User) -> None:
    publishing.submit(article, by=editor)
    approve(article)


def live(title: str = "Old", **values: object) -> Article:
    return make_article(
        title, status=Status.PUBLISHED, publish_at=soon(hours=-1), published_at=soon(hours=-1), **values
    )


def shown() -> list[str]:
    return [article.title for article in Article.objects.live(soon())]


def update_tasks(article: Article) -> list[datetime]:
    return list(TaskInfo.objects.filter(task_type=UPDATE, key=str(article.pk)).values_list("execute_time", flat=True))


def test_every_save_is_a_revision_with_author_and_time(editor: User) -> None:
    article, tag = make_article("One"), Tag.objects.create(name="ferries")
    publishing.edit(article, by=editor, changes={"title": "Two", "tags": [tag]}, note="Shorter")
    article.title = "Three"
    article.save()
    rows = article.revisions.order_by("number").values_list("number", "title", "author", "tags", "note")
    assert list(rows) == [
        (1, "One", None, [], ""),
        (2, "Two", editor.pk, ["ferries"], "Shorter"),
        (3, "Three", None, ["ferries"], ""),
    ]
    assert article.revision == 3


def test_a_save_that_leaves_the_text_alone_makes_no_revision(editor: User) -> None:
    article = make_article()
    publishing.edit(article, by=editor, changes={"title": article.title, "publish_at": soon(hours=1)})
    assert article.revisions.count() == 1


def test_a_revision_is_never_changed(editor: User) -> None:
    revision = make_article().revisions.get()
    revision.title = "Forged"
    with pytest.raises(Immutable):
        revision.save()
    with pytest.raises(Immutable):
        Revision.objects.update(title="Forged")
    assert Revision.objects.get().title != "Forged"


def test_text_written_behind_our_back_becomes_a_revision_when_it_is_touched(editor: User) -> None:
    article = make_article("Old")
    Article.objects.update(title="From elsewhere")
    rewrite(article, editor)
    assert list(article.revisions.order_by("number").values_list("title", flat=True)) == [
        "Old",
        "From elsewhere",
        "Newer",
    ]


def test_an_edit_of_an_approved_article_waits_for_its_own_approval(editor: User) -> None:
    """R5.3"""
    article = make_article("Old", status=APPROVED, publish_at=(due := soon(minutes=5)))
    rewrite(article, editor)
    assert (article.title, article.status, publish_tasks(article)) == ("Old", APPROVED, [due])
    get_approved(article, editor)
    assert (article.title, article.pending_update, publish_tasks(article)) == ("Newer", None, [due])


def test_the_approved_text_goes_live_at_its_time_while_a_newer_one_is_written(editor: User) -> None:
    article = make_article("Old", status=APPROVED, publish_at=soon(seconds=-1))
    rewrite(article, editor)
    assert shown() == ["Old"]
    publishing.publish_due([article.pk])
    article.refresh_from_db()
    assert (article.title, article.status, article.update.draft.title) == ("Old", Status.PUBLISHED, "Newer")  # type: ignore[union-attr]


def test_an_approval_names_what_was_read(editor: User) -> None:
    article = make_article()
    publishing.submit(article, by=editor)
    read = article.revision
    rewrite(article, editor)
    with pytest.raises(RevisionChanged):
        publishing.approve(article, by=make_editor("bob"), revision=read)
    assert Article.objects.get().status == Status.MANUAL_REVIEW
    publishing.approve(article, by=make_editor("carol"), revision=read + 1)
    assert Article.objects.get().status == Status.MANUALLY_APPROVED


def test_readers_go_on_seeing_the_approved_text_until_the_update_is_published(editor: User) -> None:
    article = live()
    rewrite(article, editor)
    get_approved(article, editor)
    assert shown() == ["Old"]
    publishing.publish_update(article, by=editor)
    assert shown() == ["Newer"]
    assert article.pending_update is None


@pytest.mark.django_db(transaction=True)
def test_an_update_goes_live_at_its_own_time(editor: User) -> None:
    article = live()
    rewrite(article, editor)
    publishing.schedule_update(article, publish_at=soon(hours=1), by=editor)
    assert update_tasks(article) == []
    get_approved(article, editor)
    assert len(update_tasks(article)) == 1
    publishing.schedule_update(article, publish_at=soon(seconds=-1), by=editor)
    refresh()
    run_due(10)
    assert shown() == ["Newer"]
    assert TaskInfoLog.objects.get(task_type=UPDATE).status == TaskInfoLog.Status.EXECUTED
    assert not TaskInfo.objects.exists()


def test_an_approved_update_stays_scheduled_while_a_newer_draft_is_written(editor: User) -> None:
    article = live()
    rewrite(article, editor, "Second")
    publishing.schedule_update(article, publish_at=(due := soon(hours=1)), by=editor)
    get_approved(article, editor)
    rewrite(article, editor, "Third")
    assert update_tasks(article) == [due]
    get_approved(article, editor)
    assert article.update.approved.title == "Third"  # type: ignore[union-attr]
    assert update_tasks(article) == [due]


def test_taking_the_time_or_the_text_of_an_update_away_takes_its_task_away(editor: User) -> None:
    article = live()
    rewrite(article, editor)
    publishing.schedule_update(article, publish_at=soon(hours=1), by=editor)
    get_approved(article, editor)
    publishing.unschedule_update(article, by=editor)
    assert update_tasks(article) == []
    publishing.discard_update(article, by=editor)
    assert article.pending_update is None
    assert article.revisions.count() == 3, "with another time the text was another revision"


def test_republishing_shows_the_update_of_an_unpublished_article(editor: User) -> None:
    """R5.5"""
    article = live()
    publishing.unpublish(article, by=editor)
    rewrite(article, editor)
    publishing.republish(article, by=editor)
    assert shown() == ["Old"]
    publishing.unpublish(article, by=editor)
    get_approved(article, editor)
    publishing.republish(article, by=editor)
    assert shown() == ["Newer"]


def test_a_refused_update_says_why_and_harms_nothing(editor: User) -> None:
    """R5.3"""
    article = live()
    rewrite(article, editor)
    publishing.submit(article, by=editor)
    publishing.reject(article, by=make_editor("bob"), reason="Names a minor.")
    assert (article.update.status, article.update.status_reason) == (Status.REJECTED, "Names a minor.")
    assert (shown(), article.status) == (["Old"], Status.PUBLISHED)


def test_an_older_text_comes_back_as_a_new_revision_with_its_tags(editor: User) -> None:
    tag, channel = Tag.objects.create(name="ferries"), make_channel()
    article = make_article("First", channel=channel)
    publishing.edit(article, by=editor, changes={"tags": [tag]})
    publishing.edit(article, by=editor, changes={"title": "Second", "tags": [], "channel": None})
    publishing.restore_revision(article, number=2, by=editor)
    assert (article.title, article.channel, list(article.tags.all()), article.revision) == ("First", channel, [tag], 4)
    with pytest.raises(RevisionGone):
        publishing.restore_revision(article, number=99, by=editor)


def test_a_renamed_tag_does_not_stop_an_update(editor: User) -> None:
    """Its name is free again, but on MariaDB the address of another tag differs from its own by an accent alone."""
    article, tag = live(), Tag.objects.create(name="Élan!")
    publishing.edit(article, by=editor, changes={"title": "New", "tags": [tag]})
    get_approved(article, editor)
    publishing.schedule_update(article, publish_at=soon(), by=editor)
    rename_tag(tag, name="Verve", slug="verve", by=make_user("ted", "change_tag"))
    Tag.objects.create(name="Elan?", slug="elan")
    refresh()
    run_due(10)
    article = Article.objects.get()
    assert (article.title, [tag.name for tag in article.tags.all()]) == ("New", ["Élan!"])


def test_a_correction_is_shown_with_the_corrected_text(editor: User, client: Client) -> None:
    article = live()
    rewrite(article, editor, correction="The bridge has two lanes, not four.")
    get_approved(article, editor)
    page = article.get_absolute_url()
    assert "two lanes" not in client.get(page, follow=True).text
    publishing.publish_update(article, by=editor)
    assert "two lanes" in client.get(article.get_absolute_url(), follow=True).text
    (correction,) = APIClient().get(f"/api/v1/articles/{article.pk}/").json()["corrections"]
    assert correction["note"] == "The bridge has two lanes, not four."


def test_an_edit_conflict_is_reported_and_both_texts_are_stored(editor: User) -> None:
    article, seen = make_article("Old"), Article.objects.get().changed_at
    publishing.edit(article, by=editor, changes={"title": "Theirs"}, seen=seen)
    for _ in range(2):
        with pytest.raises(EditConflict):
            publishing.edit(article, by=editor, changes={"title": "Mine"}, seen=seen)
    assert Article.objects.get().title == "Theirs"
    assert sorted(article.revisions.values_list("title", flat=True)) == ["Mine", "Old", "Theirs"]


def test_an_edit_of_a_draft_beside_an_approved_text_is_locked_too(editor: User) -> None:
    article = live()
    rewrite(article, editor)
    seen = article.changed_at
    rewrite(article, editor, "Newest")
    with pytest.raises(EditConflict):
        publishing.edit(article, by=editor, changes={"title": "Mine"}, seen=seen)


def test_a_body_of_ten_megabytes_is_refused(editor: User) -> None:
    with pytest.raises(TooLong):
        publishing.edit(make_article(), by=editor, changes={"body": "x" * (BODY_LENGTH + 1)})
    with pytest.raises(TooLong):
        publishing.create(Article(title="Long", body="x" * 10_000_000), by=editor)
    assert Article.objects.count() == 1


def test_script_in_a_pasted_text_reaches_no_reader(client: Client) -> None:
    article = live(body='<p>Safe<script>alert(1)</script><b><p onclick="x()">odd</b></p><style>p{}</style>')
    page = client.get(article.get_absolute_url()).text
    assert "Safe" in page
    assert not any(bad in page for bad in ("alert(1)", "onclick", "p{}"))


def test_only_the_embargo_right_sets_moves_and_lifts_an_embargo() -> None:
    clerk = make_user("bob", "add_article", "change_article", "edit_any_article", "schedule_article")
    article = make_article(status=APPROVED, embargo_until=soon(hours=1))
    for until in (None, soon(hours=2)):
        with pytest.raises(NotAllowed):
            publishing.set_embargo(article, until=until, by=clerk)
        with pytest.raises(NotAllowed):
            publishing.edit(article, by=clerk, changes={"embargo_until": until})
    with pytest.raises(NotAllowed):
        publishing.create(Article(title="Secret", embargo_until=soon(hours=1)), by=clerk)


def test_no_transition_passes_an_embargo(editor: User) -> None:
    article = make_article(status=APPROVED, publish_at=(due := soon(hours=3)), embargo_until=soon(hours=2))
    with pytest.raises(UnderEmbargo):
        publishing.schedule(article, publish_at=soon(hours=1), by=editor)
    with pytest.raises(UnderEmbargo):
        publishing.schedule_many([article], publish_at=soon(hours=1), by=editor)
    with pytest.raises(UnderEmbargo):
        publishing.reschedule_many([article], shift=timedelta(hours=-2), by=editor)
    with pytest.raises(UnderEmbargo):
        publishing.publish_now(article, by=editor)
    assert publish_tasks(article) == [due]
    publishing.set_embargo(article, until=None, by=editor)
    publishing.publish_now(article, by=editor)
    assert Article.objects.live(soon()).exists()


def test_an_embargo_on_an_unpublished_article_forbids_republishing(editor: User) -> None:
    article = make_article(status=Status.UNPUBLISHED, publish_at=soon(hours=-1))
    publishing.set_embargo(article, until=soon(hours=1), by=editor)
    with pytest.raises(UnderEmbargo):
        publishing.republish(article, by=editor)


def test_a_channel_is_moved_by_half_an_hour(editor: User) -> None:
    """R5.6"""
    channel, first = make_channel(), soon(hours=1)
    times = [first, first + timedelta(minutes=5)]
    articles = [make_article(f"{moment}", status=APPROVED, publish_at=moment, channel=channel) for moment in times]
    out = make_article("Out by the clock", status=APPROVED, publish_at=soon(seconds=-1), channel=channel)
    make_article("No time", status=APPROVED, channel=channel)
    in_channel = Article.objects.filter(channel=channel)
    with pytest.raises(NotRescheduled, match="Out by the clock.*No time"):
        publishing.reschedule_many(in_channel, shift=timedelta(minutes=30), by=editor)
    assert publish_tasks(articles[0]) == [first]
    assert publishing.reschedule_many(articles, shift=timedelta(minutes=30), by=editor) == 2
    assert [publish_tasks(article) for article in articles] == [[moment + timedelta(minutes=30)] for moment in times]
    assert Article.objects.get(pk=out.pk).publish_at == out.publish_at


def test_a_move_that_one_article_cannot_take_moves_none(editor: User) -> None:
    due = soon(hours=1)
    article = make_article(status=APPROVED, publish_at=due)
    make_article("Ends", status=APPROVED, publish_at=due, unpublish_at=due + timedelta(minutes=10))
    with pytest.raises(InvalidSchedule, match="Ends"):
        publishing.reschedule_many(Article.objects.all(), shift=timedelta(minutes=30), by=editor)
    with pytest.raises(InvalidSchedule):
        publishing.reschedule_many([article], shift=timedelta(days=4_000_000), by=editor)
    assert publish_tasks(article) == [due]


def test_a_failed_attempt_never_erases_a_schedule(editor: User) -> None:
    article = make_article(status=APPROVED, publish_at=(due := soon(hours=1)), unpublish_at=soon(hours=2))
    for moment in (datetime(2030, 1, 1), soon(hours=3)):
        with pytest.raises(InvalidSchedule):
            publishing.schedule(article, publish_at=moment, by=editor)
    with pytest.raises(WrongState):
        publishing.republish(article, by=editor)
    assert publish_tasks(article) == [due]


def test_an_article_that_is_due_is_unpublished_and_not_unscheduled(editor: User) -> None:
    """R5.5"""
    article = make_article(status=APPROVED, publish_at=(due := soon(seconds=-1)), cleared_at=EARLY)
    with pytest.raises(WrongState):
        publishing.unschedule(article, by=editor)
    publishing.unpublish(article, by=editor)
    assert not shown()
    assert (article.status, article.published_at, publish_tasks(article)) == (Status.UNPUBLISHED, due, [])


def test_a_retracted_article_leaves_at_once_and_its_readers_see_the_notice(editor: User, client: Client) -> None:
    article = live(slug="bridge")
    rewrite(article, editor)
    with pytest.raises(RetractionNoticeMissing):
        publishing.retract(article, by=editor, notice=" ")
    publishing.retract(article, by=editor, notice="The story was <invented>.")
    page = client.get(article.get_absolute_url())
    assert page.status_code == 410
    assert "The story was &lt;invented&gt;." in page.text
    response = APIClient().get(f"/api/v1/articles/{article.pk}/")
    assert (response.status_code, response.json()["code"]) == (410, "retracted")
    assert article.pending_update is None
    with pytest.raises(WrongState):
        publishing.republish(article, by=editor)


def test_an_article_retracted_before_its_time_was_never_there(editor: User, client: Client) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1), slug="bridge")
    publishing.retract(article, by=editor, notice="The story was invented.")
    assert client.get(article.get_absolute_url()).status_code == 404
    assert publish_tasks(article) == []


def test_only_users_who_may_retract_undo_a_retraction_and_then_it_is_republished(editor: User) -> None:
    article = live()
    publishing.retract(article, by=editor, notice="The story was invented.")
    with pytest.raises(NotAllowed):
        publishing.undo_retraction(article, by=make_user("bob", "publish_article"))
    publishing.undo_retraction(article, by=editor)
    assert (article.status, article.retraction_notice) == (Status.UNPUBLISHED, "")
    publishing.republish(article, by=editor)
    assert shown() == ["Old"]


def test_a_difference_is_shown_word_by_word() -> None:
    assert words("The old bridge.", "The new bridge.") == [
        Piece(Change.KEPT, "The "),
        Piece(Change.REMOVED, "old"),
        Piece(Change.ADDED, "new"),
        Piece(Change.KEPT, " bridge."),
    ]
    assert words("大桥重开", "大桥关闭") == [
        Piece(Change.KEPT, "大桥"),
        Piece(Change.REMOVED, "重开"),
        Piece(Change.ADDED, "关闭"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("It's 1,200.50 euros", "It isn't 1,300.50 euros", "[It's 1,200.50|It isn't 1,300.50] euros"),
        ("a well-known café", "a well-kept cafe\u0301", "a [well-known café|well-kept cafe\u0301]"),
        ("The old mayor went home", "A new chief came back", "[The old mayor went home|A new chief came back]"),
        ("市长今天宣布辞职", "市长昨天突然宣布不辞职", "市长[今天|昨天突然]宣布[|不]辞职"),
        ("他用iPhone拍摄", "他用iPad拍摄", "他用[iPhone|iPad]拍摄"),
    ],
)
def test_a_difference_splits_no_word_and_joins_changes_with_only_a_sign_between(old: str, new: str, shown: str) -> None:
    pieces, found = words(old, new), ""
    for before, piece in zip([None, *pieces], pieces, strict=False):
        if piece.change is Change.KEPT:
            found += piece.text
        elif piece.change is Change.REMOVED:
            found += f"[{piece.text}|"
        else:
            found += ("" if before and before.change is Change.REMOVED else "[|") + f"{piece.text}]"
    assert found == shown


@pytest.mark.parametrize(
    ("old", "new"), [("", "x"), ("<p>a</p>\n<p>b c</p>", "<p>a</p><p>b d</p>"), ("a " * 9000, "b")]
)
def test_a_difference_holds_both_texts(old: str, new: str) -> None:
    pieces = words(old, new)
    assert "".join(piece.text for piece in pieces if piece.change is not Change.ADDED) == old
    assert "".join(piece.text for piece in pieces if piece.change is not Change.REMOVED) == new


HISTORY = "/admin/articles/article/{}/revisions/"


@pytest.mark.parametrize("long", ["word " * 20_000, " " * 300_000, "<" * 300_000])
def test_a_long_text_is_compared_quickly(long: str) -> None:
    """Comparing what is equal word by word, or looking for an end from each place of a run, would take minutes."""
    old, new = (f"<p>{long}.</p><p>{last}</p>" for last in ("Old.", "New."))
    rows = compare_bodies(split(old), split(new))
    assert Piece(Change.ADDED, "New.") in [piece for row in rows for piece in row.pieces]
    assert {piece.text for piece in words(f"{long}. Old.", f"{long}. New.")[1:3]} in ({"Old", "New"}, {"Old.", "New."})


def test_the_desk_shows_the_history_the_differences_and_goes_back(editor: User, client: Client) -> None:
    client.force_login(editor)
    article = live()
    publishing.edit(article, by=editor, changes={"title": "Old <and> new"}, note="More")
    page = client.get(HISTORY.format(article.pk)).text
    assert all(text in page for text in ("More", "alice", "Draft", "approved"))
    page = client.get(f"{HISTORY.format(article.pk)}2/").text
    assert "&lt;and&gt;" in page
    assert "<and>" not in page
    client.post(f"{HISTORY.format(article.pk)}1/restore/")
    assert article.revisions.latest("number").title == "Old"
    assert client.get(f"{HISTORY.format(article.pk)}2/?against=x").status_code == 404
    client.force_login(make_user("bob"))
    assert client.get(HISTORY.format(article.pk)).status_code == 403


def test_the_api_shows_the_history_the_differences_and_goes_back(editor: User) -> None:
    program, article = APIClient(), live()
    program.force_login(editor)
    address = f"/api/v1/desk/articles/{article.pk}/"
    response = program.patch(address, {"title": "Newer", "note": "More", "correction": "It was old."}, format="json")
    assert (response.json()["title"], response.json()["pending_update"]["draft"]["title"]) == ("Old", "Newer")
    listed = program.get(f"{address}revisions/").json()["results"]
    assert [(row["number"], row["note"]) for row in listed] == [(2, "More"), (1, "")]
    diff = program.get(f"{address}revisions/2/diff/").json()
    assert [field["field"] for field in diff] == ["title", "correction"]
    assert program.post(f"{address}revisions/1/restore/").json()["pending_update"]["draft"]["number"] == 3
    assert program.post(f"{address}revisions/9/restore/").status_code == 404
    program.post(f"{address}submit/")
    program.force_login(make_editor("bob"))
    assert program.post(f"{address}approve/", {"revision": 1}, format="json").status_code == 409
    assert program.post(f"{address}approve/", {"revision": 3}, format="json").status_code == 200
    assert program.post(f"{address}update/publish/").json()["pending_update"] is None


def with_update(number: int, editor: User, channel: Channel) -> Article:
    """A live article whose update is due."""
    article = make_article(f"Old {number}", status=Status.PUBLISHED, publish_at=soon(hours=-1), author=make_author())
    article.tags.set([Tag.objects.get_or_create(name="old", slug="old")[0]])
    tags = [Tag.objects.get_or_create(name=name, slug=name)[0] for name in ("new", "tram")]
    changes = {"title": f"New {number}", "body": "<p>New.</p>", "channel": channel, "tags": tags}
    publishing.edit(article, by=editor, changes=changes, correction=f"Old {number} was wrong.")
    publishing.submit(article, by=editor)
    approve(article)
    publishing.schedule_update(article, publish_at=soon(hours=1), by=editor)
    if number % 2:
        publishing.edit(article, by=editor, changes={"title": f"Newest {number}"})
    Update.objects.filter(article=article).update(publish_at=soon(seconds=-1))
    return article


def make_author() -> User:
    return User.objects.get_or_create(username="wen")[0]


@pytest.mark.thorough
def test_many_updates_of_one_instant_are_a_few_statements(editor: User) -> None:
    channel = make_channel()
    few = [with_update(number, editor, channel) for number in range(2)]
    many = [with_update(number, editor, channel) for number in range(2, 14)]
    Article.objects.filter(pk=many[0].pk).update(summary="Written behind our back.")
    taken = []
    for articles in (few, many[2:]):
        with CaptureQueriesContext(connection) as queries:
            assert set(publishing.update_due([article.pk for article in articles]).done) == {one.pk for one in articles}
        taken.append(len(queries))
    assert taken[0] == taken[1] < 40
    outcome = publishing.update_due([many[0].pk, many[1].pk, few[0].pk])
    assert (set(outcome.done), set(outcome.invalid)) == ({many[0].pk, many[1].pk}, {few[0].pk})
    for article in Article.objects.order_by("pk"):
        number = article.pk - few[0].pk
        assert (article.title, article.body, article.channel) == (f"New {number}", "<p>New.</p>", channel)
        assert sorted(article.tags.values_list("name", flat=True)) == ["new", "tram"]
        assert [one.note for one in article.corrections.all()] == [f"Old {number} was wrong."]
        assert article.revisions.get(number=article.revision).digest == Text.of(article).digest
        assert (article.pending_update is not None and article.pending_update.draft is not None) == bool(number % 2)
        entry = AuditEntry.objects.of(article)[0]
        assert (entry.action, entry.revision, entry.article_title) == ("updated", article.revision, article.title)
        assert (entry.old_status, entry.new_status) == (Status.PUBLISHED, Status.PUBLISHED)
    assert many[0].revisions.filter(summary="Written behind our back.").exists()
    assert Notification.objects.filter(kind=Notification.Kind.PUBLISHED, article_title__startswith="New").count() == 14


def test_the_history_shows_the_newest_50_revisions_and_leads_to_the_others() -> None:
    article, editor = make_article(), make_editor()
    publishing.edit(article, by=editor, changes={"summary": "First."})
    text = Text.of(article)
    for _ in range(60 - article.revisions.count()):
        Revision.objects.add(article, text, author=editor, note="", correction="")
    client = Client()
    client.force_login(editor)
    address = f"/admin/articles/article/{article.pk}/revisions/"
    first, second = client.get(address), client.get(f"{address}?page=2")
    assert [revision.number for revision in first.context["revisions"]] == list(range(60, 10, -1))
    assert [revision.number for revision in second.context["revisions"]] == list(range(10, 0, -1))
    assert 'href="?page=2"' in first.content.decode()
    assert 'href="?page=1"' in second.content.decode()
