"""From each point where installations are, an upgrade ends with the tables of a new installation and the same pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client, override_settings
from django.utils import timezone

from articles.models import Article
from scheduling.models import TaskInfo
from tests.upgrades.databases import describe, differences, other_database
from tests.upgrades.earlier import HOST, what_readers_see
from tests.upgrades.points import STARTING_POINTS, NoHistory, make

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.upgrades]


@pytest.mark.parametrize("commit", STARTING_POINTS)
def test_an_upgrade_from_each_starting_point_ends_like_a_new_installation(commit: str, tmp_path: Path) -> None:
    wanted = describe()
    with other_database(tmp_path) as url:
        try:
            seen = make(commit, url, tmp_path)
        except NoHistory as error:
            pytest.fail(str(error))
        with override_settings(DEBUG=True):  # static files are collected elsewhere
            call_command("upgrade", "--backup", str(tmp_path))
        check_upgraded(wanted, seen)


def check_upgraded(wanted: Any, seen: dict[str, Any], *, was_interrupted: bool = False) -> None:
    """The connection's database is like a new one, its readers see what they saw, and what is due goes live."""
    assert differences(describe(), wanted, was_interrupted=was_interrupted) == {}
    shown = what_readers_see()
    assert {path: shown["pages"].get(path) for path in seen["pages"]} == seen["pages"]
    headlines = {headline for headline, *_paragraphs in seen["pages"].values()}  # of what stays live
    feed = [title for title in seen["feed"] if title in headlines]
    assert feed or not seen.get("has_feed", True)  # the first versions had none
    assert [title for title in shown["feed"] if title in feed] == feed
    check_desk()
    check_worker()


def check_desk() -> None:
    """Each article has its row and its form."""
    client = Client(SERVER_NAME=HOST)
    client.force_login(User.objects.filter(is_superuser=True).earliest("pk"))
    for article in Article.objects.order_by("status", "pk"):
        assert client.get(f"/admin/articles/article/{article.pk}/change/").status_code == 200
    for screen in ("", "articles/article/", "articles/auditentry/", "articles/image/", "articles/release/"):
        assert client.get(f"/admin/{screen}", follow=True).status_code == 200


def check_worker() -> None:
    """An article whose time comes is published by the worker."""
    waiting = Article.objects.filter(status__in=(4, 8), publish_at__isnull=False).latest("publish_at")
    now = timezone.now()
    Article.objects.filter(pk=waiting.pk).update(publish_at=now, embargo_until=None, cleared_at=None)
    assert TaskInfo.objects.filter(task_type="articles.publish", key=str(waiting.pk)).update(execute_time=now)
    call_command("poll")
    waiting.refresh_from_db()
    assert waiting.status == Article.Status.PUBLISHED
    assert Client(SERVER_NAME=HOST).get(waiting.get_absolute_url()).status_code == 200
    connection.close()
