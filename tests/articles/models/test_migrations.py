"""Migrations keep the data of the schema before them."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection
from django.db.migrations import AddField, Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.models import CharField, F
from django.db.models.functions import Coalesce
from django.utils import timezone

from articles.models import (
    Article,
    AuditEntry,
    BulkAction,
    NotificationPreference,
    PendingChange,
    PreviewLink,
    Revision,
    SavedView,
    Text,
)
from articles.models.base import column_triggers
from articles.models.base.column_triggers import with_triggers
from articles.roles import Role
from tests.articles.factories import make_member
from tests.harness import eventually

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def migrated_to(name: str) -> Any:
    """The apps as they were after that migration of `articles`, with the database at that state."""
    executor = MigrationExecutor(connection)
    executor.migrate([("articles", name)])
    return executor.loader.project_state([("articles", name)]).apps


@pytest.fixture(autouse=True)
def _latest_schema() -> Iterator[None]:
    yield
    call_command("migrate", verbosity=0)


def linked(old: Any) -> tuple[Any, Any]:
    """A preview link of an article, and the revision that it was made for."""
    now = timezone.now()
    article = old.get_model("articles", "Article").objects.create(title="First")
    revision = old.get_model("articles", "Revision").objects.create(
        article=article, number=1, digest="x", title="First", created_at=now
    )
    link = old.get_model("articles", "PreviewLink").objects.create(
        article=article, made_at=now + timedelta(seconds=1), expires_at=now + timedelta(days=1)
    )
    return link, revision


def test_stored_values_are_kept_and_get_the_standard_terms() -> None:
    """One migration backwards and forwards for all of them: it takes a quarter of a minute."""
    user = make_member(Role.CHIEF)
    old = migrated_to("0018_locks_of_foreign_keys")
    link, revision = linked(old)
    old = migrated_to("0019_links_and_audit_guard")
    models = {name: old.get_model("articles", name) for name in (
        "Article", "AuditEntry", "Batch", "NoticeChoice", "SavedView", "Revision", "Material", "Word",
    )}  # fmt: skip
    now = timezone.now()
    article = models["Article"].objects.create(title="A", kill_notice="Wrong.", status=11)
    models["Revision"].objects.create(article=article, number=1, digest="x", title="A", context={"pictures": {"1": {}}})
    models["AuditEntry"].objects.create(at=now, action="kill", door="admin", facts={"notice": "Wrong."})
    models["Batch"].objects.create(person_id=user.pk, step="cancel_schedule", created_at=now)
    models["NoticeChoice"].objects.create(person_id=user.pk, desk=["refused", "failed"], mail=["approved"])
    models["SavedView"].objects.create(owner_id=user.pk, name="Mine", query="shelf=killed&q=x")
    models["Word"].objects.create(text="casino", normalised="casino", level="block")
    rights = user.get_all_permissions()

    call_command("migrate", "articles", "0023", verbosity=0)

    assert PreviewLink.objects.get(pk=link.pk).revision_id == revision.pk
    assert Article.objects.values_list("retraction_notice", flat=True).get(title="A") == "Wrong."
    assert Revision.objects.values_list("context", flat=True).get(article__title="A") == {"images": {"1": {}}}
    entry = AuditEntry.objects.get(article_id=None, action="retract")
    assert (entry.source, entry.details) == ("admin", {"notice": "Wrong."})
    assert (BulkAction.objects.get().transition, BulkAction.objects.get().user_id) == ("unschedule", user.pk)
    preference = NotificationPreference.objects.get()
    assert (preference.desk, preference.mail) == (["rejected", "failed"], ["approved"])
    assert SavedView.objects.get().query == "shelf=retracted&q=x"
    call_command("migrate", "articles", "0029", verbosity=0)
    preference.refresh_from_db()
    assert (preference.desk[2:], preference.mail[1:]) == (["mentioned", "noted", "assigned"], ["mentioned", "assigned"])
    again = type(user).objects.get(pk=user.pk)
    assert again.get_all_permissions() == rights
    assert again.has_perms(["articles.retract_article", "articles.add_sensitiveword", "articles.edit_any_image"])
    assert Permission.objects.get(codename="retract_article").name == "Can retract articles, and undo that"


@pytest.mark.parametrize("is_mariadb", [True, False])
def test_changes_while_a_migration_replaces_the_triggers_are_in_the_feed(
    is_mariadb: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL cannot replace a trigger; its statements are run on MariaDB here."""
    if connection.vendor == "sqlite":
        pytest.skip("on SQLite, no other program writes during a migration")
    old = migrated_to("0032_shorter_trigger").get_model("articles", "Article")
    replacing = partial(column_triggers._replacing, is_mariadb=is_mariadb)
    monkeypatch.setattr(column_triggers, "_replacing", lambda *trigger, **_: replacing(*trigger))
    live = {"status": Article.Status.PUBLISHED, "publish_at": timezone.now() - timedelta(hours=1)}
    articles = old.objects.bulk_create(old(title=f"No. {number}", cover=[], **live) for number in range(1000))
    PendingChange.objects.all().delete()
    is_over = threading.Event()
    unpublished = []

    def unpublish() -> None:
        for article in articles:
            if is_over.is_set():
                break
            old.objects.filter(pk=article.pk).update(status=Article.Status.UNPUBLISHED)
            unpublished.append(article.pk)
        connection.close()

    thread = threading.Thread(target=unpublish)
    thread.start()
    assert eventually(lambda: unpublished)
    call_command("migrate", "articles", "0033", verbosity=0)
    is_over.set()
    thread.join()
    assert set(PendingChange.objects.values_list("article_id", flat=True)) == set(unpublished)
    with connection.cursor() as cursor:
        cursor.execute("SHOW TRIGGERS LIKE 'articles_article'")
        names = {row[0] for row in cursor.fetchall()}
    assert names == {"feed_article_insert", "feed_article_update", "feed_article_delete", "taggings_follow_time"}


def test_a_text_column_that_is_added_is_watched_by_the_change_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Text, "NAMES", Text.NAMES | {"trial_line"})
    article = Article.objects.create(title="A", status=Article.Status.PUBLISHED, publish_at=timezone.now())
    field = CharField(max_length=9, default="")
    kind = type("Trial", (Migration,), {"operations": with_triggers(AddField("article", "trial_line", field))})
    migration: Migration = kind("trial", "articles")
    before = MigrationExecutor(connection).loader.project_state()
    with connection.schema_editor() as editor:
        migration.apply(before.clone(), editor)
    try:
        PendingChange.objects.all().delete()
        for name in ("trial_line", "title"):
            with connection.cursor() as cursor:
                cursor.execute(f"UPDATE articles_article SET {name} = 'z' WHERE id = %s", [article.pk])  # noqa: S608
        assert [change.is_visible for change in PendingChange.objects.all()] == [True, True]
    finally:
        with connection.schema_editor() as editor:
            migration.unapply(before, editor)
    Article.objects.filter(pk=article.pk).update(title="B")
    assert PendingChange.objects.count() == 3


# Adding the column by which lists are ordered, beside programs that write


BEFORE, LATEST = "0033_unseen_schedules", "0035_lists_by_goes_live_at"


def fill(old: Any) -> Any:
    """An article of each kind, with a tag, as the version before stored them."""
    model, tag = old.get_model("articles", "Article"), old.get_model("articles", "Tag").objects.create(name="Rain")
    past, embargo = timezone.now() - timedelta(hours=3), timezone.now() - timedelta(hours=1)
    live = {"status": Article.Status.PUBLISHED, "publish_at": past, "cover": []}
    for number in range(50):
        article = model.objects.create(title=f"No. {number}", **live, embargo_until=embargo if number % 2 else None)
        article.tags.add(tag)
    return model


def schema() -> list[Any]:
    """The table with its triggers, without the counter of ids."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW CREATE TABLE articles_article")
        table = re.sub(r"AUTO_INCREMENT=\d+ ", "", cursor.fetchone()[1])
        cursor.execute("SHOW TRIGGERS LIKE 'articles_article%'")
        return [sorted(table.splitlines()), *sorted(row[:5] for row in cursor.fetchall())]


@contextmanager
def intercepted(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> Iterator[None]:
    """Statements of migrations are changed before they are executed."""
    editor = connection.SchemaEditorClass
    execute = editor.execute
    with monkeypatch.context() as patch:
        patch.setattr(editor, "execute", lambda self, sql, params=(): execute(self, change(str(sql)), params))
        yield


class Interrupted(Exception):
    """A migration that was interrupted."""


def migrate_with_interruptions(monkeypatch: pytest.MonkeyPatch, name: str) -> int:
    """Migrate in attempts, each of which is interrupted before its next statement but those before; their number."""
    attempts, left = 0, 0

    def count(sql: str) -> str:
        nonlocal left
        left -= 1
        if left < 0:
            raise Interrupted
        return sql

    with intercepted(monkeypatch, count):
        while True:
            attempts += 1
            left = attempts
            try:
                call_command("migrate", "articles", name, verbosity=0)
            except Interrupted:
                continue
            return attempts


def test_a_migration_that_was_interrupted_at_any_statement_can_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite rolls the whole migration back")
    expected = schema()
    fill(migrated_to(BEFORE))
    before = schema()
    assert migrate_with_interruptions(monkeypatch, LATEST) > 4
    assert schema() == expected
    assert lists_in_order() == 50
    assert migrate_with_interruptions(monkeypatch, BEFORE) > 4
    assert schema() == before


def lists_in_order() -> int:
    """The number of articles that stand, also with their tag, where readers met them."""
    shown = Article.objects.live(timezone.now()).filter(goes_live_at=Coalesce("embargo_until", "publish_at"))
    return shown.filter(taggings__goes_live_at=F("goes_live_at")).count()


def test_adding_the_column_and_its_indexes_neither_rewrites_nor_locks_the_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MariaDB refuses a statement that needs more than it says."""
    if connection.vendor == "sqlite":
        pytest.skip("on SQLite, no other program writes during a migration")
    fill(migrated_to(BEFORE))
    seen = []

    def demand(sql: str) -> str:
        if "articles_article`" not in sql or "TRIGGER" in sql:
            return sql
        seen.append(sql)
        if sql.startswith("CREATE INDEX"):
            return f"{sql} ALGORITHM=INPLACE LOCK=NONE"
        dropped = re.sub(r"^DROP INDEX (\S+) ON (\S+)$", r"ALTER TABLE \2 DROP INDEX \1", sql)
        return f"{dropped}, ALGORITHM={'INSTANT' if 'ADD COLUMN' in sql else 'INPLACE'}, LOCK=NONE"

    with intercepted(monkeypatch, demand):
        call_command("migrate", "articles", LATEST, verbosity=0)
    assert len(seen) == 2 + 4 + 5
    assert lists_in_order() == 50
