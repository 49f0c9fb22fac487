"""From when readers see an article: `goes_live_at`, whatever writes the row."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from articles import publishing
from articles.models import Article, goes_live
from tests.articles.factories import APPROVED, EARLY, approve, make_article, make_editor, soon

pytestmark = pytest.mark.django_db

Status = Article.Status
HOUR = timedelta(hours=1)


def in_database() -> datetime | None:
    moment: datetime | None = Article.objects.values_list("goes_live_at", flat=True).get()
    return moment


@pytest.mark.parametrize(
    ("publish", "embargo", "cleared", "expected"),
    [
        (None, 5, 6, None),
        (3, None, None, 3),
        (3, 2, 1, 3),
        (3, 5, None, 5),
        (3, None, 6, 6),
        (3, 5, 6, 6),
        (3, 7, 6, 7),
    ],
)
def test_it_is_the_latest_of_time_embargo_and_clearance_in_python_and_in_the_database(
    publish: int | None, embargo: int | None, cleared: int | None, expected: int | None
) -> None:
    begin = soon()

    def at(hours: int | None) -> datetime | None:
        return None if hours is None else begin + hours * HOUR

    article = make_article(publish_at=at(publish), embargo_until=at(embargo), cleared_at=at(cleared))
    assert goes_live(at(publish), at(embargo), at(cleared)) == article.goes_live_at == in_database() == at(expected)
    assert Article.objects.get().goes_live_at == at(expected)


def test_it_follows_a_statement_that_knows_nothing_of_it() -> None:
    article = make_article(publish_at=(due := soon(hours=1)))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE articles_article SET embargo_until = publish_at, publish_at = NULL")
    assert in_database() is None
    Article.objects.update(publish_at=due + HOUR)
    assert in_database() == due + HOUR
    article.refresh_from_db()
    assert article.goes_live_at == due + HOUR


def test_an_unsaved_change_is_in_it() -> None:
    article = make_article(publish_at=soon(hours=1))
    article.publish_at = later = soon(hours=3)
    assert article.goes_live_at == later


def test_an_article_approved_after_its_time_goes_live_with_the_approval() -> None:
    article = make_article(status=Status.MANUAL_REVIEW, publish_at=soon(hours=-2))
    before = soon()
    approve(article)
    assert before <= (in_database() or before - HOUR) <= soon()


def test_an_article_approved_before_its_time_goes_live_at_it() -> None:
    article = make_article(status=Status.MANUAL_REVIEW, publish_at=(due := soon(hours=2)))
    approve(article)
    assert in_database() == due


@pytest.mark.parametrize("change", ["save", "update", "bulk_create", "service"])
def test_an_approved_article_that_gets_a_past_time_goes_live_with_that_change(change: str) -> None:
    past, before = soon(hours=-3), soon()
    if change == "bulk_create":
        Article.objects.bulk_create([Article(title="One", status=APPROVED, publish_at=past)])
    else:
        article = make_article(status=APPROVED, cleared_at=EARLY)
        article.publish_at = past
        changes: dict[str, Any] = {
            "save": article.save,
            "update": lambda: Article.objects.update(publish_at=past),
            "service": lambda: publishing.schedule(article, publish_at=past, by=make_editor()),
        }
        changes[change]()
    assert before <= (in_database() or past) <= soon()


@pytest.mark.parametrize("many", [False, True])
def test_an_article_whose_embargo_is_lifted_goes_live_with_that(many: bool) -> None:  # noqa: FBT001
    article = make_article(status=APPROVED, publish_at=soon(hours=-2), embargo_until=soon(hours=2), cleared_at=EARLY)
    before = soon()
    if many:
        Article.objects.update(embargo_until=None)
    else:
        publishing.set_embargo(article, until=None, by=make_editor())
    assert before <= (in_database() or before - HOUR) <= soon()


@pytest.mark.parametrize("status", [APPROVED, Status.PUBLISHED])
def test_a_live_article_keeps_its_instant_when_it_is_stored_again(status: Status) -> None:
    article = make_article(status=status, publish_at=(due := soon(hours=-2)), cleared_at=EARLY)
    Article.objects.update(status=Status.PUBLISHED)
    article.refresh_from_db()
    article.status, article.title = Status.PUBLISHED, "Another headline"
    article.save()
    assert in_database() == due


def test_a_republished_article_keeps_its_first_instant() -> None:
    article, editor = make_article(status=APPROVED, publish_at=(due := soon(hours=-2)), cleared_at=EARLY), make_editor()
    publishing.unpublish(article, by=editor)
    publishing.republish(article, by=editor)
    assert in_database() == due


def test_an_article_that_readers_never_saw_goes_live_when_it_is_republished() -> None:
    make_article(status=Status.UNPUBLISHED, publish_at=soon(hours=-2))
    before = soon()
    publishing.republish(Article.objects.get(), by=make_editor())
    assert before <= (in_database() or before - HOUR) <= soon()


def test_an_imported_article_keeps_the_time_at_which_it_was_published_elsewhere() -> None:
    make_article(status=Status.PUBLISHED, publish_at=(due := soon(days=-400)))
    assert in_database() == due
