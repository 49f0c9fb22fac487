"""A release is dated from when readers saw it: by the clock, whenever a worker stores it, or by a person's commit."""

from __future__ import annotations

import pytest
from django.db import transaction

from articles import publishing, releases
from articles.audit import Action
from articles.models import Article, AuditEntry, Correction, Release, ReleaseMember
from articles.releases.run import date_release
from articles.task_types import PUBLISH, RELEASE
from scheduling.database import read_database_clock
from scheduling.models import TaskInfoLog
from scheduling.workers.worker import Worker
from tests.articles.factories import APPROVED, EARLY, approve, make_article, make_editor, make_release, soon

pytestmark = pytest.mark.django_db(transaction=True)

Status = Article.Status


def test_release_and_articles_have_the_time_from_which_readers_saw_them() -> None:
    irene = make_editor("irene")
    live = {"status": Status.PUBLISHED, "publish_at": soon(hours=-2), "published_at": soon(hours=-2)}
    new, updated = make_article("New", status=APPROVED), make_article("Updated", **live)
    publishing.edit(updated, by=irene, changes={"title": "Better"}, correction="It was wrong.")
    publishing.submit(updated, by=irene)
    approve(updated)
    release = make_release(new, updated, by=irene)
    releases.schedule_release(release, publish_at=soon(minutes=-1), by=irene)
    Release.objects.update(updated_at=soon(minutes=-2))
    Worker().drain()
    new.refresh_from_db()
    updated.refresh_from_db()
    instant = Release.objects.values_list("publish_at", flat=True).get()
    assert instant is not None
    assert Release.objects.get().published_at == instant
    assert (new.published_at, new.goes_live_at) == (instant, instant)
    assert (updated.title, updated.text_changed_at) == ("Better", instant)
    assert updated.published_at == live["published_at"]
    assert Correction.objects.get().published_at == instant
    assert TaskInfoLog.objects.filter(task_type=RELEASE, executed_at__gt=instant).exists()


def test_a_release_that_was_scheduled_for_a_past_time_is_dated_by_that() -> None:
    irene = make_editor("irene")
    release = make_release(make_article("New", status=APPROVED), by=irene)
    before = soon()
    releases.schedule_release(release, publish_at=soon(hours=-1), by=irene)
    Worker().drain()
    assert Article.objects.get().goes_live_at == Release.objects.get().published_at
    assert Release.objects.filter(published_at__range=(before, soon())).exists()


def test_a_release_that_a_person_publishes_is_dated_by_its_commit() -> None:
    irene = make_editor("irene")
    release = make_release(make_article("New", status=APPROVED), by=irene)
    with transaction.atomic():
        releases.publish_release_now(release, by=irene)
        written_at = read_database_clock()
    published_at = Release.objects.values_list("published_at", flat=True).get()
    assert published_at is not None
    assert published_at > written_at
    assert Article.objects.get().goes_live_at == published_at


def test_a_release_that_was_rolled_back_before_it_is_dated_stays_as_it_is() -> None:
    irene = make_editor("irene")
    release = make_release(make_article("New", status=APPROVED), by=irene)
    releases.publish_release_now(release, by=irene)
    releases.roll_back_release(release, by=irene)
    date_release(release.pk, soon(hours=1))
    assert (Release.objects.get().published_at, Article.objects.get().published_at) == (release.published_at, None)


def test_a_release_that_unpublishes_what_only_the_clock_had_published_records_both() -> None:
    irene = make_editor("irene")
    begin = soon(minutes=-5)
    article = make_article("Flash sale", status=APPROVED, publish_at=begin, cleared_at=EARLY)
    release = releases.create_release(name="End of the sale", by=irene)
    releases.add_member(release, article=article, action=ReleaseMember.Action.UNPUBLISH, by=irene)
    releases.publish_release_now(release, by=irene)
    entries = AuditEntry.objects.of(article).filter(action__in=(Action.PUBLISHED, Action.UNPUBLISHED)).order_by("pk")
    steps = [(Status.APPROVED, Status.PUBLISHED), (Status.PUBLISHED, Status.UNPUBLISHED)]
    assert list(entries.values_list("old_status", "new_status")) == steps
    task = TaskInfoLog.objects.get(task_type=PUBLISH, key=str(article.pk))
    assert (task.status, task.worker) == (TaskInfoLog.Status.EXECUTED, publishing.BY_CLOCK)
    assert Article.objects.get().published_at == begin
    releases.roll_back_release(release, by=irene)
    assert Article.objects.live(soon()).get().status == Status.PUBLISHED


def test_preflight_names_the_status_at_the_time_of_the_release() -> None:
    irene = make_editor("irene")
    live = {"status": Status.PUBLISHED, "publish_at": soon(hours=-2), "published_at": soon(hours=-2)}
    article = make_article("Summer sale", unpublish_at=soon(hours=1), **live)
    release = releases.create_release(name="End of the sale", by=irene)
    releases.add_member(release, article=article, action=ReleaseMember.Action.UNPUBLISH, by=irene)
    releases.schedule_release(release, publish_at=soon(hours=2), by=irene)
    (problem,) = releases.preflight(release)
    assert "“Unpublished”" in problem.message
