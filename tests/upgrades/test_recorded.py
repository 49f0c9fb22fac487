"""The recorded database of an earlier version is upgraded: the short form.

`make upgrades` takes all versions from the history of the repository.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.test import override_settings
from django.utils import timezone

from articles.models import (
    Article,
    AuditEntry,
    BulkAction,
    NotificationPreference,
    PreviewLink,
    Revision,
    SavedView,
    SensitiveWord,
)
from articles.roles import Role
from tests.harness.schema import client
from tests.upgrades.databases import OTHER, describe, other_database
from tests.upgrades.record import recorded
from tests.upgrades.test_history import check_upgraded

NEXT_ARE_NEW_TERMS = ("articles", "0018_locks_of_foreign_keys")

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


@pytest.mark.thorough
def test_a_recorded_installation_is_upgraded_and_its_values_get_the_standard_terms(tmp_path: Path) -> None:
    wanted = describe()
    with other_database(tmp_path) as url:
        dump, seen = recorded(connection.vendor)
        load(dump, url)
        link, revision = store_old_terms()
        with override_settings(DEBUG=True):
            upgrade_again_after_failure(tmp_path)
        check_upgraded(wanted, seen, was_interrupted=True)
        assert PreviewLink.objects.get(pk=link).revision_id == revision
        check_standard_terms()


def load(dump: str, url: str) -> None:
    """Fill the other database."""
    if connection.vendor == "sqlite":
        Path(url.removeprefix("sqlite:///")).write_bytes(bytes.fromhex(dump))
    else:
        options = [*client("mariadb", os.environ["DATABASE_URL"]), OTHER]
        subprocess.run(options, input=dump, text=True, check=True)


def fail_after_renaming(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    """Wraps the execution of statements."""
    result = execute(sql, params, many, context)
    if " RENAME TO " in str(sql) or str(sql).startswith("RENAME TABLE"):
        raise OSError("The disk is full")
    return result


def upgrade_again_after_failure(directory: Path) -> None:
    """The first attempt fails when it has renamed a table; on MariaDB that is not undone, and not backed up again."""
    failure = r"The migration \S+ failed.*: The disk is full\n.*run manage.py upgrade again"
    with connection.execute_wrapper(fail_after_renaming), pytest.raises(CommandError, match=failure):
        call_command("upgrade", "--backup", str(directory / "before.zip"))
    output = StringIO()
    call_command("upgrade", "--backup", str(directory / "again.zip"), stdout=output)
    is_kept = "before.zip of the attempt before" in output.getvalue()
    assert is_kept == (connection.vendor == "mysql")
    assert (directory / "again.zip").exists() != is_kept


def store_old_terms() -> tuple[Any, Any]:
    """Rows with values that have other names today, in tables that an interrupted upgrade has left.

    Returns the keys of a preview link, and of the revision that it was made for.
    """
    apps, now = MigrationExecutor(connection).migrate([NEXT_ARE_NEW_TERMS]).apps, timezone.now()

    def create(model: str, /, **values: Any) -> Any:
        return apps.get_model("articles", model).objects.create(**values)

    user = apps.get_model("auth", "User").objects.create(username="alice")
    user.groups.add(apps.get_model("auth", "Group").objects.get(name=Role.CHIEF))
    article = create("Article", title="A", kill_notice="Wrong.", status=11)
    values = {"article": article, "number": 1, "digest": "x", "title": "A", "created_at": now}
    revision = create("Revision", context={"pictures": {"1": {}}}, **values)
    later = now + timedelta(seconds=1)
    link = create("PreviewLink", article=article, made_at=later, expires_at=now + timedelta(days=1))
    create("AuditEntry", at=now, action="kill", door="admin", facts={"notice": "Wrong."})
    create("Batch", person_id=user.pk, step="cancel_schedule", created_at=now)
    create("NoticeChoice", person_id=user.pk, desk=["refused", "failed"], mail=["approved"])
    create("SavedView", owner_id=user.pk, name="Mine", query="shelf=killed&q=x")
    create("Word", text="casino", normalised="casino", level="block")
    return link.pk, revision.pk


def check_standard_terms() -> None:
    """They have the names of today, and nothing else has changed."""
    user = User.objects.get(username="alice")
    article = Article.objects.get(title="A")
    assert (article.status, article.retraction_notice) == (Article.Status.RETRACTED, "Wrong.")
    assert Revision.objects.values_list("context", flat=True).get(article=article) == {"images": {"1": {}}}
    entry = AuditEntry.objects.get(article_id=None, action="retract")
    assert (entry.source, entry.details) == ("admin", {"notice": "Wrong."})
    assert BulkAction.objects.get(user=user).transition == "unschedule"
    preference = NotificationPreference.objects.get(user=user)
    assert preference.desk == ["rejected", "failed", "mentioned", "noted", "assigned", "proposed"]
    assert preference.mail == ["approved", "mentioned", "assigned"]
    assert SavedView.objects.get(owner=user).query == "shelf=retracted&q=x"
    assert SensitiveWord.objects.filter(text="casino", normalised="casino").exists()
    assert user.has_perms(["articles.retract_article", "articles.add_sensitiveword", "articles.edit_any_image"])
    assert Permission.objects.get(codename="retract_article").name == "Can retract articles, and undo that"
