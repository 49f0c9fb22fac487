"""Transitions of articles: permissions, statuses and effects."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import Client

from articles import publishing
from articles.exceptions import (
    AltMissing,
    ArticleError,
    ArticleGone,
    EditConflict,
    ImageInUse,
    InvalidSchedule,
    NotAllowed,
    NotEditable,
    NotRescheduled,
    PixelsUsedUp,
    ReasonMissing,
    UnknownImage,
    WithoutAccess,
    WrongState,
)
from articles.models import Article
from articles.review import Opinion
from articles.workflow import TRANSITIONS, Position, Subject, Transition, Verdict, transitions_from
from tests.articles.factories import (
    APPROVED,
    EARLY,
    allow_automatic_approval,
    approve,
    make_article,
    make_channel,
    make_editor,
    make_user,
    soon,
)

pytestmark = pytest.mark.django_db

Status = Article.Status


def perform(transition: Transition, article: Article, *, by: Any) -> None:
    given = {"publish_at": soon(hours=1), "until": soon(hours=1), "minutes": 60, "revision": 1}
    publishing.perform(transition, article, by=by, reason="Too long.", notice="It was invented.", **given)


OF_UPDATES = {transition for transition, rule in TRANSITIONS.items() if rule.subject in (Subject.UPDATE, Subject.NEWER)}


@pytest.fixture
def editor() -> User:
    return make_editor()


@pytest.mark.cases(33)
@pytest.mark.parametrize("transition", set(Transition) - OF_UPDATES - {Transition.RESCHEDULE})
@pytest.mark.parametrize("status", Status)
def test_a_transition_is_possible_from_the_statuses_of_the_table_and_no_other(
    transition: Transition, status: Status, editor: User
) -> None:
    article = make_article(status=status)
    if status in TRANSITIONS[transition].sources:
        perform(transition, article, by=editor)
    else:
        with pytest.raises(WrongState):
            perform(transition, article, by=editor)
        assert Article.objects.get().status == status


@pytest.mark.parametrize("transition", Transition)
def test_no_one_performs_a_transition_without_its_permission(transition: Transition) -> None:
    article = make_article(status=min(TRANSITIONS[transition].sources))
    everything_else = {transition.permission for transition in TRANSITIONS.values()} - {
        TRANSITIONS[transition].permission
    }
    clerk = make_user("bob", *(name.removeprefix("articles.") for name in everything_else))
    for user in (clerk, AnonymousUser()):
        with pytest.raises(NotAllowed):
            perform(transition, article, by=user)
    assert Article.objects.get().status == article.status


def test_a_superuser_needs_no_permission() -> None:
    article = make_article(status=Status.MANUAL_REVIEW)
    approve(article, by=make_user("root", is_superuser=True))
    assert article.status == Status.MANUALLY_APPROVED


def test_a_draft_can_only_be_submitted() -> None:
    assert transitions_from(Position(Status.DRAFT)) == [Transition.SUBMIT, Transition.SET_EMBARGO]


def test_without_an_automatic_review_a_reviewer_decides(editor: User) -> None:
    """R5.2"""
    article = make_article()
    publishing.submit(article, by=editor)
    assert article.status == Status.MANUAL_REVIEW


@pytest.mark.parametrize(("verdict", "status"), [(Verdict.PASSED, Status.APPROVED), (Verdict.BLOCKED, Status.REJECTED)])
def test_the_review_decides_at_submit(
    verdict: Verdict, status: Status, editor: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R5.1"""
    allow_automatic_approval()
    monkeypatch.setattr("articles.publishing.run_review.review", lambda text: Opinion(verdict, "Because."))
    article = make_article()
    publishing.submit(article, by=editor)
    assert (article.status, article.status_reason) == (status, "Because.")


def test_an_approval_keeps_the_chosen_time(editor: User) -> None:
    """R5.3"""
    chosen = soon(hours=1)
    article = make_article(publish_at=chosen)
    publishing.submit(article, by=editor)
    approve(article)
    assert (article.status, article.publish_at) == (Status.MANUALLY_APPROVED, chosen)


def test_a_refusal_needs_a_reason_and_keeps_it(editor: User) -> None:
    """R5.3"""
    article = make_article(status=Status.MANUAL_REVIEW)
    with pytest.raises(ReasonMissing):
        publishing.reject(article, by=editor, reason="  ")
    publishing.reject(article, by=editor, reason="Names a minor.")
    assert (article.status, article.status_reason) == (Status.REJECTED, "Names a minor.")


def test_a_headline_of_blanks_cannot_be_submitted(editor: User) -> None:
    with pytest.raises(WrongState):
        publishing.submit(make_article("  "), by=editor)


@pytest.mark.parametrize(
    "moment", [datetime(2030, 1, 1, 7), datetime.min, datetime.fromisoformat("0001-01-01T00:00:00+14:00")]
)
def test_times_that_no_clock_or_database_knows_are_refused(moment: datetime, editor: User) -> None:
    article = make_article(status=APPROVED)
    with pytest.raises(InvalidSchedule):
        publishing.schedule(article, publish_at=moment, by=editor)
    with pytest.raises(InvalidSchedule):
        publishing.schedule_many([article], publish_at=moment, by=editor)
    assert Article.objects.get().publish_at is None


def test_an_article_is_not_scheduled_for_after_its_end(editor: User) -> None:
    article = make_article(status=APPROVED, unpublish_at=soon(hours=1))
    with pytest.raises(InvalidSchedule):
        publishing.schedule(article, publish_at=soon(hours=2), by=editor)


def test_one_impossible_article_of_many_leaves_all_as_they_are(editor: User) -> None:
    make_article("Good", status=APPROVED)
    make_article("Bad", status=APPROVED, unpublish_at=soon(hours=1))
    with pytest.raises(InvalidSchedule, match="Bad"):
        publishing.schedule_many(Article.objects.all(), publish_at=soon(hours=2), by=editor)
    assert not Article.objects.filter(publish_at__isnull=False).exists()


def test_an_article_scheduled_for_a_past_time_is_live_at_once(editor: User) -> None:
    """R0.2"""
    article = make_article(status=APPROVED)
    publishing.schedule(article, publish_at=soon(minutes=-5), by=editor)
    assert Article.objects.live(soon()).get() == article


def test_publishing_now_stamps_the_real_time(editor: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    before = soon()
    publishing.publish_now(article, by=editor)
    assert article.status == Status.PUBLISHED
    assert article.publish_at == article.published_at
    assert article.published_at is not None
    assert before <= article.published_at <= soon()


def test_an_embargo_is_not_broken_by_publishing_now(editor: User) -> None:
    article = make_article(status=APPROVED, embargo_until=soon(hours=1))
    with pytest.raises(InvalidSchedule, match="embargo"):
        publishing.publish_now(article, by=editor)
    assert Article.objects.get().status == APPROVED


def test_readers_see_unpublishing_and_republishing_at_once(editor: User) -> None:
    """R5.5"""
    article = make_article(status=Status.PUBLISHED, publish_at=(first := soon(hours=-1)), published_at=first)
    publishing.unpublish(article, by=editor)
    assert not Article.objects.live(soon()).exists()
    publishing.republish(article, by=editor)
    assert Article.objects.live(soon()).get() == article
    assert (article.publish_at, article.published_at) == (first, first)


def test_republishing_after_the_time_to_be_unpublished_clears_that_time(editor: User) -> None:
    article = make_article(status=Status.UNPUBLISHED, publish_at=soon(hours=-2), unpublish_at=soon(hours=-1))
    publishing.republish(article, by=editor)
    assert article.unpublish_at is None
    assert Article.objects.live(soon()).exists()


def test_a_republished_article_keeps_its_date_though_an_embargo_has_ended_since(editor: User) -> None:
    first = soon(hours=-2)
    article = make_article(
        status=Status.UNPUBLISHED, publish_at=first, published_at=first, embargo_until=soon(minutes=-1)
    )
    publishing.republish(article, by=editor)
    assert (article.published_at, article.goes_live_at, article.embargo_until) == (first, first, None)


def test_a_republished_article_keeps_the_embargo_with_which_it_went_live(editor: User) -> None:
    first = soon(hours=-2)
    article = make_article(
        status=Status.UNPUBLISHED, publish_at=soon(hours=-3), published_at=first, embargo_until=first
    )
    publishing.republish(article, by=editor)
    assert (article.published_at, article.goes_live_at, article.embargo_until) == (first, first, first)


def test_a_transition_of_a_deleted_article_is_an_error(editor: User) -> None:
    article = make_article(status=APPROVED)
    Article.objects.all().delete()
    article.pk = 1
    with pytest.raises(ArticleGone):
        publishing.publish_now(article, by=editor)


def test_a_transition_reads_the_stored_row_not_the_instance(editor: User) -> None:
    article = make_article(status=Status.DRAFT)
    article.status = APPROVED
    with pytest.raises(WrongState):
        publishing.publish_now(article, by=editor)


def test_an_edit_writes_the_changes_and_nothing_else(editor: User) -> None:
    article, channel = make_article(body="Old."), make_channel()
    publishing.edit(article, by=editor, changes={"body": "New.", "channel": channel})
    assert Article.objects.values_list("title", "body", "channel").get() == (article.title, "New.", channel.pk)


@pytest.mark.parametrize("name", ["status", "published_at", "external_id", "id"])
def test_an_edit_does_not_change_where_an_article_stands(name: str, editor: User) -> None:
    with pytest.raises(NotEditable, match=name):
        publishing.edit(make_article(), by=editor, changes={name: 9})


def _over_before_any_worker_ran() -> Article:
    return make_article(status=APPROVED, publish_at=soon(hours=-2), cleared_at=EARLY, unpublish_at=soon(hours=-1))


def test_a_retracted_article_that_was_live_only_while_no_worker_ran_shows_its_notice(
    editor: User, client: Client
) -> None:
    article = _over_before_any_worker_ran()
    went_live = article.publish_at
    publishing.retract(article, by=editor, notice="Invented")
    article.refresh_from_db()
    assert (article.publish_at, article.published_at) == (went_live, went_live)
    assert "Invented" in client.get(article.get_absolute_url()).text


def test_a_retracted_article_that_another_program_has_published_shows_its_notice(editor: User, client: Client) -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-2))
    publishing.unpublish(article, by=editor)
    publishing.retract(article, by=editor, notice="Invented")
    assert "Invented" in client.get(article.get_absolute_url()).text


def test_a_retracted_article_that_another_program_has_published_shows_its_notice_after_its_end(
    editor: User, client: Client
) -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-2), unpublish_at=soon(hours=-1))
    Article.objects.filter(pk=article.pk).update(updated_at=soon(hours=-3))
    publishing.retract(article, by=editor, notice="Invented")
    assert "Invented" in client.get(article.get_absolute_url()).text


def test_an_article_that_was_live_only_while_no_worker_ran_keeps_its_time(editor: User) -> None:
    article = _over_before_any_worker_ran()
    with pytest.raises(WrongState):
        publishing.unschedule(article, by=editor)
    with pytest.raises(WrongState):
        publishing.edit(Article.objects.get(), by=editor, changes={"publish_at": None})
    assert publishing.schedule_many([article], publish_at=soon(minutes=-90), by=editor) == 0
    with pytest.raises(NotRescheduled, match="Unpublished"):
        publishing.reschedule_many([article], shift=timedelta(minutes=10), by=editor, at_once=True)
    assert Article.objects.get().publish_at == article.publish_at


def test_an_edit_of_an_old_version_is_refused(editor: User) -> None:
    article = make_article()
    seen = article.updated_at
    publishing.edit(article, by=editor, changes={"title": "First"}, seen=seen)
    with pytest.raises(EditConflict):
        publishing.edit(article, by=editor, changes={"title": "Second"}, seen=seen)
    assert Article.objects.get().title == "First"


def test_moving_an_approved_article_takes_the_permission_to_schedule() -> None:
    writer = make_user("bob", "change_article", "edit_any_article")
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    with pytest.raises(NotAllowed):
        publishing.edit(article, by=writer, changes={"publish_at": soon(hours=2)})
    publishing.edit(article, by=writer, changes={"title": "A better headline"})


def test_the_time_of_a_published_article_is_history(editor: User) -> None:
    article = make_article(status=Status.PUBLISHED, publish_at=soon(hours=-1))
    with pytest.raises(WrongState):
        publishing.edit(article, by=editor, changes={"publish_at": soon(hours=1)})


@pytest.mark.parametrize("name", ["publish_at", "embargo_until"])
@pytest.mark.parametrize("status", [APPROVED, Article.Status.PUBLISHED])
def test_an_edit_does_not_hide_what_readers_see_by_the_clock(status: Article.Status, name: str, editor: User) -> None:
    article = make_article(status=status, publish_at=soon(minutes=-1))  # noted by a worker, or not yet
    with pytest.raises(WrongState):
        publishing.edit(article, by=editor, changes={name: soon(hours=1)})
    assert article in Article.objects.live(soon())


@pytest.mark.parametrize("status", [APPROVED, Article.Status.PUBLISHED])
def test_an_edit_does_not_show_again_what_the_clock_has_unpublished(status: Article.Status, editor: User) -> None:
    article = make_article(status=status, publish_at=soon(minutes=-2), unpublish_at=soon(minutes=-1))
    with pytest.raises(WrongState, match="unpublished already"):
        publishing.edit(article, by=editor, changes={"unpublish_at": soon(hours=1)})
    assert article not in Article.objects.live(soon())


def test_saving_an_instance_that_was_loaded_before_going_live_does_not_take_the_article_back() -> None:
    """R0.6"""
    article = make_article(status=APPROVED, publish_at=soon(hours=-1))
    stale = Article.objects.get()
    publishing.publish_due([article.pk])
    stale.title = "A comma, corrected"
    stale.save()
    stored = Article.objects.get()
    assert (stored.status, stored.title) == (Status.PUBLISHED, "A comma, corrected")
    assert stored.published_at is not None


def test_a_value_changed_back_after_a_reload_is_saved() -> None:
    article = make_article("A")
    Article.objects.update(title="B")
    article.refresh_from_db()
    article.title = "A"
    article.save()
    assert Article.objects.get().title == "A"


def test_every_error_has_a_code_and_a_sentence() -> None:
    kinds = ArticleError.__subclasses__()
    assert len({kind.code for kind in kinds}) == len(kinds)
    naming = [
        AltMissing(["Harbour"]),
        ImageInUse(["Harbour"]),
        NotRescheduled({7: "“Harbour” is out."}),
        publishing.Unconfirmed(["Harbour goes live."], typed=False),
        UnknownImage(["Harbour"]),
        WithoutAccess(["Harbour"]),
    ]
    assert all("Harbour" in str(error) for error in naming)
    others = [*naming, PixelsUsedUp(timedelta(minutes=2))]
    errors = [*others, *(kind() for kind in kinds if kind not in map(type, others))]
    assert all(str(error).endswith(".") for error in errors)


def test_live_needs_approval_its_time_no_embargo_and_no_end() -> None:
    now = soon()
    before, after = now - timedelta(seconds=1), now + timedelta(seconds=1)
    shown = [
        make_article(status=status, publish_at=moment, cleared_at=EARLY)
        for status in Status.visible()
        for moment in (before, now)
    ] + [
        make_article(status=APPROVED, publish_at=before, cleared_at=EARLY, embargo_until=now),
        make_article(status=APPROVED, publish_at=before, cleared_at=EARLY, unpublish_at=after),
    ]
    for status in set(Status) - set(Status.visible()):
        make_article(status=status, publish_at=before)
    make_article(status=APPROVED)
    make_article(status=APPROVED, publish_at=after)
    make_article(status=APPROVED, publish_at=before, embargo_until=after)
    make_article(status=APPROVED, publish_at=before, unpublish_at=now)
    assert set(Article.objects.live(now)) == set(shown)


def test_users_perform_the_transitions_of_the_table_and_no_others() -> None:
    """R5.1 R5.3 R5.5"""
    moves = {
        (source, rule.target) for rule in TRANSITIONS.values() for source in rule.sources if rule.target is not None
    }
    assert moves == {
        (Status.DRAFT, Status.SUBMITTED),
        (Status.REJECTED, Status.SUBMITTED),
        (Status.MANUAL_REVIEW, Status.MANUALLY_APPROVED),
        (Status.MANUAL_REVIEW, Status.REJECTED),
        (Status.MANUALLY_APPROVED, Status.PUBLISHED),
        (Status.APPROVED, Status.PUBLISHED),
        (Status.PUBLISHED, Status.UNPUBLISHED),
        (Status.UNPUBLISHED, Status.PUBLISHED),
        (Status.MANUALLY_APPROVED, Status.RETRACTED),
        (Status.APPROVED, Status.RETRACTED),
        (Status.PUBLISHED, Status.RETRACTED),
        (Status.UNPUBLISHED, Status.RETRACTED),
        (Status.RETRACTED, Status.UNPUBLISHED),
    }
