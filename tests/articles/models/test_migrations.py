"""Migrations keep the data of the schema before them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command
from django.db import connection
from django.db.migrations import AddField, Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.models import CharField
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
