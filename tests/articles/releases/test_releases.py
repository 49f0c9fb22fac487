"""Releases: articles, updates and unpublishings take effect together, or none does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import F

from articles import publishing, releases
from articles.exceptions import (
    BelongsToRelease,
    InvalidSchedule,
    NotAllowed,
    NotAMember,
    ReleaseGone,
    ReleaseNotReady,
    UnderEmbargo,
    WrongState,
)
from articles.handlers import release as release_handler
from articles.models import Article, AuditEntry, Correction, Notification, Release, ReleaseMember, Update
from articles.notifications.alerts import notify_of_trouble
from articles.publishing.reconcile import reconcile_tasks
from articles.releases import reconcile
from articles.releases.reconcile import reconcile_releases
from articles.roles import Role
from articles.search.indexing import reconcile_index
from articles.task_types import OF_ARTICLES, RELEASE
from scheduling.database import lock_by_ids, read_database_clock
from scheduling.models import TaskInfo, TaskInfoLog
from scheduling.registry import Drop, Verdict
from scheduling.services import run_due
from tests.articles.factories import (
    APPROVED,
    approve,
    make_article,
    make_editor,
    make_member,
    make_release,
    make_user,
    publish_tasks,
    soon,
    unpublish_tasks,
)

pytestmark = pytest.mark.django_db

Status = Article.Status
Action = ReleaseMember.Action


@pytest.fixture
def irene() -> User:
    """A user with all permissions."""
    return make_editor("irene")


def published(title: str = "Harbour bridge reopens") -> Article:
    """An article that readers see."""
    long_ago = soon(days=-1)
    return make_article(title, status=Status.PUBLISHED, publish_at=long_ago, published_at=long_ago)


def with_newer_text(article: Article, text: str, by: User) -> Article:
    """The article, with an approved update that waits."""
    publishing.edit(article, by=by, changes={"body": text})
    Update.objects.filter(article=article).update(status=Status.MANUAL_REVIEW)
    approve(Article.objects.get(pk=article.pk))
    return Article.objects.get(pk=article.pk)


def due(release: Release, by: User) -> Release:
    """Schedule the release for a moment ago."""
    releases.schedule_release(release, publish_at=soon(seconds=-1), by=by)
    return release


def later(release: Release, by: User) -> Release:
    """Schedule the release for an hour from now."""
    releases.schedule_release(release, publish_at=soon(hours=1), by=by)
    return release


def let_come(release: Release) -> None:
    """Let the hour pass, for its articles as well."""
    passed = timedelta(hours=1, seconds=1)
    Release.objects.update(publish_at=F("publish_at") - passed, updated_at=F("updated_at") - passed)
    Article.objects.update(unpublish_at=F("unpublish_at") - passed, embargo_until=F("embargo_until") - passed)


def let_go_out(release: Release) -> Verdict | None:
    """Run the release's task as a worker does."""
    task = TaskInfo.objects.get(task_type=RELEASE, key=str(release.pk))
    verdict = (release_handler([task]) or {}).get(task.task_id)
    release.refresh_from_db()
    return verdict


@pytest.mark.django_db(transaction=True)
def test_the_log_has_the_lateness_of_the_record(irene: User, caplog: pytest.LogCaptureFixture) -> None:
    due(make_release(make_article("New", status=APPROVED), by=irene), irene)
    TaskInfo.objects.filter(task_type=RELEASE).update(execute_time=soon(seconds=-1))
    with caplog.at_level(logging.INFO, "articles.handlers"):
        run_due(10)
    assert f"published a release, late {TaskInfoLog.objects.get(task_type=RELEASE).lateness_ms:.1f} ms" in caplog.text


def release_tasks(release: Release) -> list[datetime]:
    tasks = TaskInfo.objects.filter(task_type=RELEASE, key=str(release.pk))
    return list(tasks.values_list("execute_time", flat=True))


def live_titles() -> set[str]:
    return set(Article.objects.live(read_database_clock()).values_list("title", flat=True))


def state(*articles: Article) -> list[dict[str, object]]:
    """All of the articles that a release may change."""
    names = ("status", "publish_at", "published_at", "unpublish_at", "title", "body")
    return list(Article.objects.filter(pk__in=[article.pk for article in articles]).order_by("pk").values(*names))


# Publishing together


def test_articles_updates_and_unpublishings_go_live_at_one_instant(irene: User) -> None:
    new, updated, off = make_article("New", status=APPROVED), published("Updated"), published("Off")
    with_newer_text(updated, "Better", irene)
    release = make_release(new, updated, by=irene)
    releases.add_member(release, article=off, action=Action.UNPUBLISH, by=irene)
    releases.schedule_release(release, publish_at=soon(seconds=-1), by=irene)
    assert live_titles() == {"Updated", "Off"}

    assert let_go_out(release) is None

    for article in (new, updated, off):
        article.refresh_from_db()
    assert live_titles() == {"New", "Updated"}
    assert (new.status, new.publish_at, new.published_at) == (
        Status.PUBLISHED,
        release.publish_at,
        release.published_at,
    )
    assert (updated.body, off.status, release.status) == ("Better", Status.UNPUBLISHED, Release.Status.PUBLISHED)
    assert not ReleaseMember.objects.filter(holds=True).exists()
    assert reconcile_index() == 0


def test_members_of_a_late_release_stand_where_readers_got_them(irene: User) -> None:
    """Not at the time of the release, when readers could not see them."""
    make_article("Between", status=Status.PUBLISHED, publish_at=soon(minutes=-1), published_at=soon(minutes=-1))
    late = make_article("Late", status=APPROVED)
    release = make_release(late, by=irene)
    releases.schedule_release(release, publish_at=soon(minutes=-2), by=irene)
    let_go_out(release)
    release.refresh_from_db()
    newest = Article.objects.live(soon()).newest_first()
    assert [(one.title, one.goes_live_at) for one in newest][0] == ("Late", release.published_at)


def test_one_member_that_is_not_approved_stops_all_and_all_users_concerned_are_notified(irene: User) -> None:
    author, publisher = make_member(Role.AUTHOR), make_member(Role.PUBLISHER)
    good = [make_article(f"No. {number}", status=APPROVED) for number in range(3)]
    bad = make_article("Bad", author=author, status=Status.MANUAL_REVIEW)
    release = due(make_release(*good, bad, by=irene), irene)

    verdict = let_go_out(release)

    assert isinstance(verdict, Drop)
    assert (release.status, live_titles()) == (Release.Status.FAILED, set())
    assert release.reason == "“Bad”: A reviewer has not decided yet."
    failures = Notification.objects.filter(kind=Notification.Kind.FAILED, release=release)
    assert set(failures.values_list("user", "reason")) == {
        (user.pk, release.reason) for user in (author, publisher, irene)
    }


def test_a_failed_release_is_fixed_and_published(irene: User) -> None:
    bad = make_article("Bad", status=Status.MANUAL_REVIEW)
    release = due(make_release(make_article("Good", status=APPROVED), bad, by=irene), irene)
    let_go_out(release)
    approve(bad)
    assert releases.preflight(release) == []
    assert live_titles() == set()

    releases.publish_release_now(release, by=irene)

    assert live_titles() == {"Good", "Bad"}
    assert len({article["published_at"] for article in state(*Article.objects.all())}) == 1
    assert (release.status, release.reason) == (Release.Status.PUBLISHED, "")


def test_a_failed_release_may_be_scheduled_again(irene: User) -> None:
    bad = make_article(status=Status.MANUAL_REVIEW)
    release = due(make_release(bad, by=irene), irene)
    let_go_out(release)
    approve(bad)
    due(release, irene)
    assert let_go_out(release) is None
    assert live_titles() == {bad.title}


def test_publishing_on_request_what_is_not_ready_names_every_blocking_issue_and_does_nothing(irene: User) -> None:
    embargo = soon(hours=1)
    articles = [
        make_article("Draft"),
        make_article("Sent back", status=Status.REJECTED),
        make_article("Secret", status=APPROVED, embargo_until=embargo),
        make_article("Short", status=APPROVED, unpublish_at=soon(minutes=-1)),
        make_article("Fine", status=APPROVED),
    ]
    release = make_release(*articles, by=irene)
    with pytest.raises(ReleaseNotReady) as refused:
        releases.publish_release_now(release, by=irene)
    lines = str(refused.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["“Draft”", "“Sent back”", "“Secret”", "“Short”"]
    assert [problem.code for problem in releases.preflight(release)] == [
        "not_approved",
        "not_approved",
        "under_embargo",
        "over",
    ]
    release.refresh_from_db()
    assert (release.status, live_titles()) == (Release.Status.DRAFT, set())


def test_what_will_be_ready_in_time_is_no_problem(irene: User) -> None:
    secret = make_article(status=APPROVED, embargo_until=soon(hours=1))
    release = make_release(secret, by=irene)
    releases.schedule_release(release, publish_at=soon(hours=2), by=irene)
    assert releases.preflight(release) == []


def test_an_empty_release_is_not_published(irene: User) -> None:
    release = make_release(by=irene)
    with pytest.raises(ReleaseNotReady):
        releases.schedule_release(release, publish_at=soon(), by=irene)
    with pytest.raises(ReleaseNotReady):
        releases.publish_release_now(release, by=irene)


def test_an_update_that_is_not_approved_is_named(irene: User) -> None:
    article = published()
    publishing.edit(article, by=irene, changes={"body": "Better"})
    release = make_release(article, by=irene)
    (problem,) = releases.preflight(release)
    assert (problem.code, "Draft" in problem.message) == ("not_approved", True)
    publishing.discard_update(Article.objects.get(), by=irene)
    assert [problem.code for problem in releases.preflight(release)] == ["no_newer_text"]


def test_the_time_to_be_unpublished_counts_from_the_release_on(irene: User) -> None:
    end = soon(hours=3)
    article = make_article(status=APPROVED, unpublish_at=end)
    release = make_release(article, by=irene)
    assert unpublish_tasks(article) == []
    releases.publish_release_now(release, by=irene)
    assert unpublish_tasks(article) == [end]


# Members have no time of their own


def test_a_member_loses_its_time_and_its_tasks(irene: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    updated = with_newer_text(published("Updated"), "Better", irene)
    publishing.schedule_update(updated, publish_at=soon(hours=1), by=irene)
    make_release(article, updated, by=irene)
    article.refresh_from_db()
    assert article.publish_at is None
    assert Update.objects.get().publish_at is None
    assert not TaskInfo.objects.filter(task_type__in=OF_ARTICLES).exists()


def test_the_clock_alone_never_shows_a_member(irene: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(minutes=1))
    due(make_release(article, by=irene), irene)
    assert not Article.objects.live(soon(days=1)).exists()


@pytest.mark.parametrize(
    "source",
    [
        lambda article, by: publishing.schedule(article, publish_at=soon(hours=1), by=by),
        lambda article, by: publishing.schedule_many([article], publish_at=soon(hours=1), by=by),
        lambda article, by: publishing.publish_now(article, by=by),
        lambda article, by: publishing.unschedule(article, by=by),
        lambda article, by: publishing.edit(article, by=by, changes={"publish_at": soon(hours=1)}),
        lambda article, by: set_time_and_save(article),
    ],
    ids=["schedule", "schedule_many", "publish_now", "unschedule", "edit", "save"],
)
def test_no_source_gives_a_member_a_time_of_its_own(irene: User, source: object) -> None:
    article = make_article(status=APPROVED)
    make_release(article, by=irene)
    with pytest.raises(BelongsToRelease, match="belongs to the release “Budget day”; remove it from the release first"):
        source(article, irene)  # type: ignore[operator]
    article.refresh_from_db()
    assert (article.publish_at, publish_tasks(article), live_titles()) == (None, [], set())


def set_time_and_save(article: Article) -> None:
    article.publish_at = soon()
    article.save()


@pytest.mark.parametrize(
    "source",
    [
        lambda article, by: publishing.schedule_update(article, publish_at=soon(hours=1), by=by),
        lambda article, by: publishing.unschedule_update(article, by=by),
        lambda article, by: publishing.publish_update(article, by=by),
    ],
    ids=["schedule_update", "unschedule_update", "publish_update"],
)
def test_no_source_publishes_a_member_s_update(irene: User, source: object) -> None:
    article = with_newer_text(published(), "Better", irene)
    make_release(article, by=irene)
    with pytest.raises(BelongsToRelease):
        source(article, irene)  # type: ignore[operator]
    article.refresh_from_db()
    assert article.body == ""


def test_an_update_approved_while_its_article_is_off_still_waits_for_the_release(irene: User) -> None:
    article = published()
    publishing.edit(article, by=irene, changes={"body": "Better"})
    release = make_release(article, by=irene)
    publishing.unpublish(article, by=irene)
    Update.objects.update(status=Status.MANUAL_REVIEW)
    approve(Article.objects.get())
    publishing.republish(Article.objects.get(), by=irene)
    assert Article.objects.get().body == ""
    releases.publish_release_now(release, by=irene)
    assert Article.objects.get().body == "Better"


def test_a_time_written_without_the_services_is_cleared_before_it_comes(irene: User) -> None:
    article = make_article(status=APPROVED)
    updated = with_newer_text(published("Updated"), "Better", irene)
    make_release(article, updated, by=irene)
    Article.objects.filter(pk=article.pk).update(publish_at=soon(minutes=2))
    Update.objects.update(publish_at=soon(minutes=2))
    assert reconcile_tasks() == 2
    assert reconcile_releases() == 2
    article.refresh_from_db()
    assert (article.publish_at, Update.objects.get().publish_at) == (None, None)
    assert not TaskInfo.objects.filter(task_type__in=OF_ARTICLES).exists()
    assert reconcile_releases() == 0


def test_a_time_that_is_set_after_leaving_the_release_is_kept(irene: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reconciler has just read that the article is a member."""
    article, moment = make_article(status=APPROVED), soon(minutes=2)
    release = make_release(article, by=irene)
    Article.objects.filter(pk=article.pk).update(publish_at=soon(minutes=1))

    def lock_later(*args: Any, **options: Any) -> Any:
        releases.cancel_release(release, by=irene)
        publishing.schedule(article, publish_at=moment, by=irene)
        return lock_by_ids(*args, **options)

    monkeypatch.setattr(reconcile, "lock_by_ids", lock_later)
    assert reconcile_releases() == 0
    assert Article.objects.get().publish_at == moment


def test_joining_writes_the_row_that_a_time_would_be_written_to(irene: User) -> None:
    """On Galera, only that makes it collide with a time that is set on another node."""
    article, updated = make_article(status=APPROVED), with_newer_text(published("Updated"), "Better", irene)
    before = article.updated_at, Update.objects.get().updated_at
    make_release(article, updated, by=irene)
    article.refresh_from_db()
    assert article.updated_at > before[0]
    assert Update.objects.get().updated_at > before[1]


def test_an_article_belongs_to_one_pending_release(irene: User) -> None:
    article = make_article(status=APPROVED)
    first, second = make_release(article, by=irene), make_release(by=irene, name="Elections")
    with pytest.raises(BelongsToRelease):
        releases.add_member(second, article=article, by=irene)
    with pytest.raises(IntegrityError), transaction.atomic():
        ReleaseMember.objects.create(release=second, article=article, action=Action.PUBLISH)
    releases.cancel_release(first, by=irene)
    releases.add_member(second, article=article, by=irene)


# Members change


def test_a_deleted_member_fails_the_release_until_it_is_removed(irene: User) -> None:
    gone, kept = make_article("Gone", status=APPROVED), make_article("Kept", status=APPROVED)
    release = later(make_release(gone, kept, by=irene), irene)
    gone.delete()
    let_come(release)
    let_go_out(release)
    assert (release.status, release.reason) == (
        Release.Status.FAILED,
        "“Gone”: It was deleted. Remove it from the release.",
    )
    releases.remove_member(release, member=release.members.get(article=None), by=irene)
    releases.publish_release_now(release, by=irene)
    assert live_titles() == {"Kept"}


def test_an_approved_text_goes_live_whatever_is_being_written(irene: User) -> None:
    article = make_article("Approved", status=APPROVED)
    release = later(make_release(article, by=irene), irene)
    publishing.edit(article, by=irene, changes={"title": "Not approved"})
    let_come(release)
    let_go_out(release)
    assert live_titles() == {"Approved"}
    assert Update.objects.get().draft is not None


@pytest.mark.parametrize(
    ("transition", "code"),
    [
        (lambda article, by: publishing.retract(article, by=by, notice="Invented"), "retracted"),
        (lambda article, by: publishing.set_embargo(article, until=soon(hours=2), by=by), "under_embargo"),
        (lambda article, by: publishing.edit(article, by=by, changes={"unpublish_at": soon(minutes=30)}), "over"),
    ],
    ids=["retract", "embargo", "end"],
)
def test_what_is_done_to_a_member_fails_the_release(irene: User, transition: object, code: str) -> None:
    article = make_article(status=APPROVED)
    release = later(make_release(article, make_article("Other", status=APPROVED), by=irene), irene)
    transition(article, irene)  # type: ignore[operator]
    assert [problem.code for problem in releases.preflight(release)] == [code]
    let_come(release)
    let_go_out(release)
    assert (release.status, live_titles()) == (Release.Status.FAILED, set())


def test_an_article_to_be_updated_may_be_unpublished_and_the_release_says_so(irene: User) -> None:
    article = with_newer_text(published(), "Better", irene)
    release = make_release(article, by=irene)
    publishing.unpublish(article, by=irene)
    assert [problem.code for problem in releases.preflight(release)] == ["not_out"]


# Changing the release


def test_an_article_that_is_removed_stays_approved_and_is_free(irene: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    release = make_release(article, by=irene)
    releases.remove_member(release, member=release.members.get(), by=irene)
    article.refresh_from_db()
    assert (article.status, article.publish_at) == (APPROVED, None)
    publishing.schedule(article, publish_at=soon(hours=1), by=irene)
    with pytest.raises(NotAMember):
        releases.remove_member(release, member=ReleaseMember(pk=1), by=irene)


def test_a_scheduled_release_has_one_task_at_its_time(irene: User) -> None:
    release = make_release(make_article(status=APPROVED), by=irene)
    times = [soon(hours=1), soon(hours=2)]
    for moment in times:
        releases.schedule_release(release, publish_at=moment, by=irene)
        assert release_tasks(release) == [moment]
    releases.cancel_release(release, by=irene)
    assert release_tasks(release) == []
    releases.reopen_release(release, by=irene)
    releases.schedule_release(release, publish_at=times[0], by=irene)
    releases.publish_release_now(release, by=irene)
    assert release_tasks(release) == []


@pytest.mark.parametrize("log_status", TaskInfoLog.Status.values)
def test_a_task_that_is_missing_is_made_again_whatever_its_record_says(irene: User, log_status: int) -> None:
    """A release that failed once is not lost."""
    release = make_release(make_article(status=APPROVED), by=irene)
    Release.objects.update(status=Release.Status.SCHEDULED, publish_at=soon(minutes=5))
    assert [reconcile_releases(), reconcile_releases()] == [1, 0]
    assert len(release_tasks(release)) == 1

    TaskInfo.objects.all().delete()
    TaskInfoLog.objects.filter(task_type=RELEASE).update(status=log_status)
    assert [reconcile_releases(), reconcile_releases()] == [1, 0]
    assert len(release_tasks(release)) == 1
    release.refresh_from_db()
    assert release.status == Release.Status.SCHEDULED


def test_a_release_that_no_one_runs_is_reported_once(irene: User) -> None:
    release = make_release(make_article(status=APPROVED), by=irene)
    releases.schedule_release(release, publish_at=soon(minutes=1), by=irene)
    TaskInfo.objects.update(execute_time=soon(minutes=-1))
    assert [notify_of_trouble(), notify_of_trouble()] == [1, 0]
    assert Notification.objects.get(user=irene).release == release


def test_a_cancelled_release_is_not_published_and_can_be_prepared_again(irene: User) -> None:
    article = make_article(status=APPROVED)
    release = later(make_release(article, by=irene), irene)
    releases.cancel_release(release, by=irene)
    assert release_tasks(release) == []
    publishing.schedule(article, publish_at=soon(hours=1), by=irene)
    releases.reopen_release(release, by=irene)
    article.refresh_from_db()
    assert (article.publish_at, publish_tasks(article), release.publish_at) == (None, [], None)
    releases.publish_release_now(release, by=irene)
    assert live_titles() == {article.title}


def test_an_article_published_alone_stays_live_when_its_release_is_prepared_again(irene: User) -> None:
    article = make_article(status=APPROVED)
    release = make_release(article, by=irene)
    releases.cancel_release(release, by=irene)
    publishing.publish_now(article, by=irene)
    releases.reopen_release(release, by=irene)
    assert live_titles() == {article.title}
    assert [problem.code for problem in releases.preflight(release)] == ["already_out"]


def test_a_release_is_not_prepared_again_with_an_article_that_another_has_by_now(irene: User) -> None:
    article = make_article(status=APPROVED)
    first = make_release(article, by=irene)
    releases.cancel_release(first, by=irene)
    make_release(article, by=irene, name="Elections")
    with pytest.raises(BelongsToRelease, match="Elections"):
        releases.reopen_release(first, by=irene)


def test_a_published_release_is_neither_changed_nor_cancelled_nor_deleted(irene: User) -> None:
    release = make_release(make_article(status=APPROVED), by=irene)
    releases.publish_release_now(release, by=irene)
    for transition in (releases.cancel_release, releases.delete_release, releases.publish_release_now):
        with pytest.raises(WrongState, match="the release is “Published”"):
            transition(release, by=irene)
    with pytest.raises(WrongState):
        releases.add_member(release, article=make_article(), by=irene)
    with pytest.raises(WrongState):
        releases.schedule_release(release, publish_at=soon(), by=irene)


def test_a_deleted_release_frees_its_articles_and_leaves_no_task(irene: User) -> None:
    article = make_article(status=APPROVED)
    release = make_release(article, by=irene)
    copy = Release.objects.get()
    releases.delete_release(release, by=irene)
    publishing.publish_now(article, by=irene)
    with pytest.raises(ReleaseGone):
        releases.cancel_release(copy, by=irene)
    due_one = due(make_release(make_article(status=APPROVED), by=irene), irene)
    Release.objects.get().delete()
    assert release_tasks(due_one) == []


@pytest.mark.parametrize(
    ("article", "action"),
    [
        ({"status": Status.UNPUBLISHED}, ""),
        ({"status": Status.RETRACTED}, ""),
        ({"status": Status.PUBLISHED}, Action.PUBLISH),
        ({"status": Status.PUBLISHED}, ""),
        ({"status": APPROVED}, Action.UNPUBLISH),
        ({}, Action.UPDATE),
    ],
    ids=[
        "unpublished",
        "retracted",
        "publish what is live",
        "nothing new",
        "unpublish what is not live",
        "update a draft",
    ],
)
def test_what_makes_no_sense_does_not_come_into_a_release(irene: User, article: dict[str, Any], action: str) -> None:
    release = make_release(by=irene)
    with pytest.raises(WrongState):
        releases.add_member(release, article=make_article(**article), action=action, by=irene)
    assert not release.members.exists()


def test_an_article_in_the_release_can_be_given_another_action(irene: User) -> None:
    article = with_newer_text(published(), "Better", irene)
    release = make_release(article, by=irene)
    releases.add_member(release, article=article, action=Action.UNPUBLISH, by=irene)
    assert release.members.get().action == Action.UNPUBLISH


def test_times_without_zone_and_names_without_letters_are_refused(irene: User) -> None:
    release = make_release(make_article(), by=irene)
    with pytest.raises(InvalidSchedule):
        releases.schedule_release(release, publish_at=datetime(2100, 1, 1), by=irene)  # noqa: DTZ001
    for name in (" ", "x" * 121):
        with pytest.raises(WrongState):
            releases.rename_release(release, name=name, by=irene)
    releases.rename_release(release, name=" Summit ", by=irene)
    assert Release.objects.get().name == "Summit"


# Dry run and roll-back


def test_a_dry_run_says_what_would_happen_and_changes_nothing(irene: User) -> None:
    new, updated = make_article("New", status=APPROVED), with_newer_text(published("Updated"), "Better", irene)
    release = make_release(new, updated, by=irene)
    releases.schedule_release(release, publish_at=soon(hours=1), by=irene)
    before = state(new, updated)
    dry_run = releases.dry_run_release(release, by=irene)
    assert [(str(effect.member), effect.before, effect.after) for effect in dry_run.effects] == [
        ("New", "Approved, revision 1", "Published, revision 1"),
        ("Updated", "Published, revision 1", "Published, revision 2"),
    ]
    release.refresh_from_db()
    assert (state(new, updated), release.status) == (before, Release.Status.SCHEDULED)
    assert not AuditEntry.objects.filter(action="published").exists()


def test_a_dry_run_of_what_would_fail_names_the_faults(irene: User) -> None:
    release = make_release(make_article("Draft"), by=irene)
    dry_run = releases.dry_run_release(release, by=irene)
    assert ([problem.code for problem in dry_run.problems], dry_run.effects) == (["not_approved"], [])


def test_a_roll_back_puts_every_member_where_it_stood_before(irene: User) -> None:
    new, off = make_article("New", status=APPROVED, unpublish_at=soon(days=1)), published("Off")
    updated = published("Updated")
    publishing.edit(updated, by=irene, changes={"body": "Better"}, correction="It was worse.")
    Update.objects.update(status=Status.MANUAL_REVIEW)
    approve(Article.objects.get(pk=updated.pk))
    release = make_release(new, Article.objects.get(pk=updated.pk), by=irene)
    releases.add_member(release, article=off, action=Action.UNPUBLISH, by=irene)
    before = state(new, updated, off)
    releases.publish_release_now(release, by=irene)
    assert Correction.objects.exists()

    releases.roll_back_release(release, by=irene)

    assert state(new, updated, off) == before
    assert live_titles() == {"Updated", "Off"}
    assert not Correction.objects.exists()
    assert Update.objects.get().approved is not None
    assert not TaskInfo.objects.filter(task_type__in=OF_ARTICLES).exists()
    assert release.status == Release.Status.ROLLED_BACK

    releases.reopen_release(release, by=irene)
    releases.publish_release_now(release, by=irene)
    assert live_titles() == {"New", "Updated"}
    assert Article.objects.get(pk=updated.pk).body == "Better"


def test_a_roll_back_loses_no_text_that_came_later(irene: User) -> None:
    article = with_newer_text(published(), "Better", irene)
    release = make_release(article, by=irene)
    releases.publish_release_now(release, by=irene)
    article = with_newer_text(Article.objects.get(), "Best", irene)
    publishing.publish_update(article, by=irene)
    releases.roll_back_release(release, by=irene)
    assert Article.objects.get().body == ""
    approved = Update.objects.get().approved
    assert approved is not None
    assert approved.body == "Best"


def test_a_roll_back_restores_nothing_that_was_retracted_or_deleted(irene: User) -> None:
    retracted, gone, fine = (make_article(title, status=APPROVED) for title in ("Retracted", "Gone", "Fine"))
    release = make_release(retracted, gone, fine, by=irene)
    releases.publish_release_now(release, by=irene)
    retracted.refresh_from_db()
    publishing.retract(retracted, by=irene, notice="Invented")
    gone.delete()
    releases.roll_back_release(release, by=irene)
    assert [row["status"] for row in state(retracted, fine)] == [Status.RETRACTED, APPROVED]


@pytest.mark.cases(1)
@pytest.mark.parametrize("way", ["unpublished again", "retracted and restored", "by another release"])
def test_a_roll_back_shows_nothing_that_was_unpublished_again(irene: User, way: str) -> None:
    article = published()
    release = releases.create_release(name="First", by=irene)
    releases.add_member(release, article=article, action=Action.UNPUBLISH, by=irene)
    releases.publish_release_now(release, by=irene)
    article.refresh_from_db()
    if way == "retracted and restored":
        publishing.retract(article, by=irene, notice="Invented")
        publishing.undo_retraction(article, by=irene)
    else:
        publishing.republish(article, by=irene)
    if way == "unpublished again":
        publishing.unpublish(article, by=irene)
    if way == "by another release":
        other = releases.create_release(name="Second", by=irene)
        releases.add_member(other, article=article, action=Action.UNPUBLISH, by=irene)
        releases.publish_release_now(other, by=irene)
    releases.roll_back_release(release, by=irene)
    assert live_titles() == set()
    assert not AuditEntry.objects.of(article).filter(action="taken_back").exists()


def test_an_article_whose_end_has_passed_unseen_by_workers_joins_no_release(irene: User) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=-2), unpublish_at=soon(hours=-1))
    with pytest.raises(WrongState, match="republish it first"):
        make_release(article, by=irene)
    article.refresh_from_db()
    assert article.publish_at is not None


def test_a_roll_back_republishes_nothing_whose_own_end_is_past(irene: User) -> None:
    article = make_article("Old", status=Status.PUBLISHED, publish_at=soon(days=-1), unpublish_at=soon(hours=1))
    release = releases.create_release(name="Removal", by=irene)
    releases.add_member(release, article=article, action=Action.UNPUBLISH, by=irene)
    releases.publish_release_now(release, by=irene)
    Article.objects.filter(pk=article.pk).update(unpublish_at=soon(hours=-1))  # the time has passed
    releases.roll_back_release(release, by=irene)
    article.refresh_from_db()
    assert article.status == Status.UNPUBLISHED
    assert live_titles() == set()


def test_a_roll_back_shows_nothing_under_embargo_and_then_takes_nothing_back(irene: User) -> None:
    off, new = published("Off"), make_article("New", status=APPROVED)
    release = make_release(new, by=irene)
    releases.add_member(release, article=off, action=Action.UNPUBLISH, by=irene)
    releases.publish_release_now(release, by=irene)
    off.refresh_from_db()
    publishing.set_embargo(off, until=soon(hours=1), by=irene)
    with pytest.raises(UnderEmbargo):
        releases.roll_back_release(release, by=irene)
    assert live_titles() == {"New"}


# Permissions and audit log


def test_a_release_leaves_an_entry_for_itself_and_for_each_member(irene: User) -> None:
    articles = [make_article(f"No. {number}", status=APPROVED) for number in range(2)]
    release = due(make_release(*articles, by=irene), irene)
    let_go_out(release)
    releases.roll_back_release(release, by=irene)
    found = AuditEntry.objects.of_release(release).order_by("id").values_list("action", "article_title", "user_name")
    assert list(found) == [
        ("create_release", "", "irene"),
        ("joined_release", "No. 0", "irene"),
        ("joined_release", "No. 1", "irene"),
        ("schedule_release", "", "irene"),
        ("published", "No. 0", ""),
        ("published", "No. 1", ""),
        ("released", "", ""),
        ("taken_back", "No. 0", "irene"),
        ("taken_back", "No. 1", "irene"),
        ("roll_back_release", "", "irene"),
    ]


@pytest.mark.parametrize("role", Role)
def test_only_publishers_and_chiefs_manage_releases(role: Role) -> None:
    release = make_release(make_article(status=APPROVED), by=make_editor())
    user = make_member(role)
    transitions: list[Callable[[], object]] = [
        lambda: releases.create_release(name="Mine", by=user),
        lambda: releases.rename_release(release, name="Mine", by=user),
        lambda: releases.add_member(release, article=make_article(status=APPROVED), by=user),
        lambda: releases.remove_member(release, member=release.members.latest("pk"), by=user),
        lambda: releases.dry_run_release(release, by=user),
        lambda: releases.schedule_release(release, publish_at=soon(hours=1), by=user),
        lambda: releases.cancel_release(release, by=user),
        lambda: releases.reopen_release(release, by=user),
        lambda: releases.publish_release_now(release, by=user),
        lambda: releases.roll_back_release(release, by=user),
        lambda: releases.reopen_release(release, by=user),
        lambda: releases.delete_release(release, by=user),
    ]
    for transition in transitions:
        if role in (Role.PUBLISHER, Role.CHIEF):
            transition()
        else:
            with pytest.raises(NotAllowed):
                transition()
    assert make_member(role, "second").has_perm("articles.view_release")


def test_a_release_outlives_its_maker() -> None:
    maker = make_user("root", is_superuser=True)
    release = make_release(make_article(status=APPROVED), by=maker)
    maker.delete()
    release.refresh_from_db()
    assert release.created_by is None
