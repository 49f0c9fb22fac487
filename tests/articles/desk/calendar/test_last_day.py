"""The last day of 9999 is the year 10000 in zones ahead of UTC: no form accepts it, and no page fails on it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from rest_framework.test import APIClient

from articles.exceptions import InvalidSchedule
from articles.models import Article, Preferences
from scheduling.exceptions import TimeOutOfRange
from scheduling.services import add_task, refresh
from tests.articles.factories import APPROVED, make_article, make_user, publish_tasks, soon

pytestmark = pytest.mark.django_db

LAST = datetime(9999, 12, 31, 12, tzinfo=UTC)
LATEST_TAKEN = datetime(9999, 12, 30, 23, 59, 59, 999999, tzinfo=UTC)


@pytest.fixture
def root() -> User:
    user = make_user("root", is_superuser=True)
    Preferences.objects.create(user=user, time_zone="Pacific/Kiritimati")
    return user


@pytest.mark.parametrize("name", ["publish_at", "unpublish_at", "embargo_until"])
def test_no_article_is_saved_with_such_a_time(name: str) -> None:
    with pytest.raises(InvalidSchedule, match="outside the years"):
        Article.objects.create(title="Never", **{name: LAST})
    assert not Article.objects.exists()


def test_an_import_does_not_take_it_over(tmp_path: Path) -> None:
    file = tmp_path / "articles.jsonl"
    file.write_text(json.dumps({"title": "Never", "unpublish_at": LAST.isoformat()}))
    out = StringIO()
    call_command("import_articles", str(file), stdout=out)
    assert f'unpublish_at: "{LAST.isoformat()}" lies outside the years 1000 to 9999' in out.getvalue()
    assert Article.objects.get().unpublish_at is None


def test_the_engine_refuses_it() -> None:
    with pytest.raises(TimeOutOfRange):
        add_task("mail.send", execute_time=LAST, parameters={})


def test_the_latest_time_that_is_taken_is_shown_in_every_zone(root: User, client: Client) -> None:
    article = make_article(status=APPROVED, publish_at=LATEST_TAKEN)
    client.force_login(root)
    lists = ["articles/article", "articles/auditentry", "scheduling/taskinfo", "scheduling/taskinfolog"]
    for address in ["", f"articles/article/{article.pk}/change/", *(f"{name}/" for name in lists)]:
        assert client.get(f"/admin/{address}").status_code == 200, address


def test_one_that_is_stored_all_the_same_hides_no_other_from_programs(root: User) -> None:
    make_article()
    Article.objects.update(unpublish_at=LAST)
    programs = APIClient()
    programs.force_authenticate(root)
    (listed,) = programs.get("/api/v1/desk/articles/").json()["results"]
    assert listed["unpublish_at"] == "9999-12-31T12:00:00Z"


@pytest.mark.parametrize("time", [LAST, datetime(999, 1, 1, tzinfo=UTC)])
def test_one_that_is_stored_all_the_same_keeps_no_other_from_being_repaired(time: datetime) -> None:
    odd, other = make_article(status=APPROVED), make_article(status=APPROVED)
    Article.objects.update(publish_at=soon(minutes=1))
    Article.objects.filter(pk=odd.pk).update(**({"embargo_until": time} if time == LAST else {"publish_at": time}))
    assert refresh().reconciled == 1
    assert len(publish_tasks(other)) == 1
    assert publish_tasks(odd) == []
