"""Migrations of the article's table, beside programs that write, and after interruptions."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache, partial
from typing import Any

import pytest
from django.db import connection
from django.db.migrations import AddField, Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import CharField, F
from django.db.models.functions import Coalesce
from django.utils import timezone

from articles.migrations import _triggers
from articles.migrations._triggers import with_triggers
from articles.models import Article, PendingChange
from tests.harness import eventually
from tests.upgrades.interruptions import prepare, run_with_interruptions

pytestmark = pytest.mark.django_db(transaction=True)


@cache
def state_at(name: str = "") -> ProjectState:
    """The rendered state after that migration of `articles`, by default after all; only copies of it are changed."""
    loader = MigrationExecutor(connection).loader
    state = loader.project_state([("articles", name)] if name else None)
    assert state.apps
    return state


def apply(*operations: Operation) -> Migration:
    """Run these operations on the newest tables, as a migration of `articles`."""
    kind = type("Trial", (Migration,), {"operations": operations})
    migration: Migration = kind("trial", "articles")
    with connection.schema_editor() as editor:
        migration.apply(state_at().clone(), editor)
    return migration


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_mariadb", [True, False])
def test_changes_while_a_migration_replaces_the_triggers_are_in_the_feed(
    is_mariadb: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL cannot replace a trigger; its statements are run on MariaDB here."""
    if connection.vendor == "sqlite":
        pytest.skip("on SQLite, no other program writes during a migration")
    replacing = partial(_triggers._replacing, is_mariadb=is_mariadb)
    monkeypatch.setattr(_triggers, "_replacing", lambda *trigger, **_: replacing(*trigger))
    live = {"status": Article.Status.PUBLISHED, "publish_at": timezone.now() - timedelta(hours=1)}
    articles = Article.objects.bulk_create(Article(title=f"No. {number}", **live) for number in range(1000))
    PendingChange.objects.all().delete()
    is_over = threading.Event()
    unpublished = []

    def unpublish() -> None:
        for article in articles:
            if is_over.is_set():
                break
            Article.objects.filter(pk=article.pk).update(status=Article.Status.UNPUBLISHED)
            unpublished.append(article.pk)
        connection.close()

    thread = threading.Thread(target=unpublish)
    thread.start()
    assert eventually(lambda: unpublished)
    apply(*with_triggers())
    is_over.set()
    thread.join()
    assert set(PendingChange.objects.values_list("article_id", flat=True)) == set(unpublished)
    with connection.cursor() as cursor:
        cursor.execute("SHOW TRIGGERS LIKE 'articles_article'")
        names = {row[0] for row in cursor.fetchall()}
    assert names == {"feed_article_insert", "feed_article_update", "feed_article_delete", "taggings_follow_time"}


def test_a_text_column_that_is_added_is_watched_by_the_change_feed() -> None:
    article = Article.objects.create(title="A", status=Article.Status.PUBLISHED, publish_at=timezone.now())
    field = CharField(max_length=9, default="")
    models = ("article", "revision")
    migration = apply(*with_triggers(*(AddField(model, "trial_line", field) for model in models)))
    try:
        PendingChange.objects.all().delete()
        for name in ("trial_line", "title"):
            with connection.cursor() as cursor:
                cursor.execute(f"UPDATE articles_article SET {name} = 'z' WHERE id = %s", [article.pk])  # noqa: S608
        assert [change.is_visible for change in PendingChange.objects.all()] == [True, True]
    finally:
        with connection.schema_editor() as editor:
            migration.unapply(state_at(), editor)
    Article.objects.filter(pk=article.pk).update(title="B")
    assert PendingChange.objects.count() == 3


# Adding the column by which lists are ordered, beside programs that write


BEFORE, ADDING = "0033_unseen_schedules", slice(2)


@cache
def later() -> list[Migration]:
    """The migrations of `articles` since then: two that add it, and those after them."""
    graph, state, prepared = MigrationExecutor(connection).loader.graph, state_at(BEFORE), []
    (leaf,) = graph.leaf_nodes("articles")
    names = [name for app, name in graph.forwards_plan(leaf) if app == "articles"]
    for name in names[names.index(BEFORE) + 1 :]:
        migration, state = prepare(graph.nodes["articles", name], state)
        prepared.append(migration)
    return prepared


def run(migrations: list[Migration]) -> None:
    """Apply them; an attempt before may have been interrupted."""
    for migration in migrations:
        with connection.schema_editor() as editor:
            migration.apply(ProjectState(), editor)


def undo(migrations: list[Migration]) -> None:
    """Go back to before the first of them."""
    for migration in reversed(migrations):
        with connection.schema_editor() as editor:
            migration.unapply(ProjectState(), editor)


@pytest.fixture
def old() -> Iterator[Any]:
    """The apps before it was added, with the tables as they were."""
    if connection.vendor == "sqlite":
        pytest.skip("SQLite rolls the whole migration back, and no other program writes during one")
    newest = schema()
    undo(later())
    yield state_at(BEFORE).apps
    run(later())
    assert schema() == newest


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


@pytest.mark.thorough
def test_a_migration_that_was_interrupted_at_any_statement_can_be_run_again(old: Any) -> None:
    fill(old)
    before = schema()
    assert sum(run_with_interruptions(partial(run, [one])) for one in later()[ADDING]) > 15
    assert lists_in_order() == 50
    assert sum(run_with_interruptions(partial(undo, [one])) for one in reversed(later()[ADDING])) > 15
    assert schema() == before


def lists_in_order() -> int:
    """The number of articles that stand, also with their tag, where readers met them."""
    shown = Article.objects.live(timezone.now()).filter(goes_live_at=Coalesce("embargo_until", "publish_at"))
    return shown.filter(taggings__goes_live_at=F("goes_live_at")).count()


@pytest.mark.thorough
def test_adding_the_column_and_its_indexes_neither_rewrites_nor_locks_the_table(
    old: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB refuses a statement that needs more than it says."""
    fill(old)
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
        run(later()[ADDING])
    assert len(seen) == 2 + 4 + 5
    assert lists_in_order() == 50
