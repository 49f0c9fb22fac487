"""Migrations that are interrupted after each of their statements, and run again each time."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from django.db import connection
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

_READING = ("SELECT", "SHOW", "PRAGMA", "SAVEPOINT", "RELEASE", "ROLLBACK", "SET")
_LAST = 'INSERT INTO "DJANGO_MIGRATIONS"'
"""Of a migration that is one transaction, as on SQLite: after each statement before, it begins from the same state."""


class Interruption(Exception):
    """What happened after a statement had its effect."""


class AfterEach:
    """Wraps the execution of statements: raises `Interruption` after each that writes, once for each text."""

    def __init__(self) -> None:
        self.statements: set[str] = set()
        self.has_raised = False  # in this run

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        statement = str(sql)  # without parameters, which may be the present time
        if _has_effect(statement.lstrip("( ").upper()) and statement not in self.statements:
            self.statements.add(statement)
            self.has_raised = True
            raise Interruption(sql)
        return result


def _has_effect(statement: str) -> bool:
    """Whether there is something that an interruption might leave behind."""
    return statement.startswith(_LAST) if connection.features.can_rollback_ddl else not statement.startswith(_READING)


class Prepared(Operation):
    """An operation with the states before and after it: rendering them costs more than its statements."""

    def __init__(self, operation: Operation, before: ProjectState, after: ProjectState) -> None:
        self._operation, self._before, self._after = operation, before, after

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Both states are there."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Do it."""
        self._operation.database_forwards(app_label, schema_editor, self._before, self._after)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        """Undo it."""
        self._operation.database_backwards(app_label, schema_editor, self._after, self._before)


def prepare(migration: Migration, state: ProjectState) -> tuple[Migration, ProjectState]:
    """The same migration, which can be run again and again with any state, and the state after it."""
    prepared: Any = copy(migration)
    prepared.operations = []
    for operation in migration.operations:
        after = state.clone()
        operation.state_forwards(migration.app_label, after)
        one: Any = Prepared(operation, state, after)
        one.atomic = operation.atomic
        prepared.operations.append(one)
        state = after
    return prepared, state


def run_with_interruptions(run: Callable[[], Any], is_done: Callable[[], bool] = lambda: False) -> int:
    """Run it until it is done or not interrupted after any further statement. Returns how often it was."""
    after_each = AfterEach()
    while True:
        after_each.has_raised = False
        try:
            with connection.execute_wrapper(after_each):
                run()
            return len(after_each.statements)
        except Exception as error:
            if not after_each.has_raised:
                error.add_note(f"again after {len(after_each.statements)} statements")
                raise
            _connect_again()
            if is_done():
                return len(after_each.statements)


def _connect_again() -> None:
    """As the next process does. On SQLite, Django's editor of schemas stays in its transaction after an error."""
    if connection.connection is not None:
        connection.connection.close()
    connection.connect()


def migrate_with_interruptions() -> int:
    """Apply all migrations, each of which is interrupted after each statement. Returns how often that was."""
    executor = MigrationExecutor(connection)
    executor.recorder.ensure_schema()
    applied = set(executor.loader.applied_migrations) & set(executor.loader.graph.nodes)
    state, count = executor.loader.project_state(list(applied)), 0
    for migration, _backwards in executor.migration_plan(executor.loader.graph.leaf_nodes()):
        assert state.apps  # rendered once, then changed by each operation
        assert migration.atomic
        prepared, state = prepare(migration, state)
        count += run_with_interruptions(partial(_apply, executor, prepared), partial(_has, executor, prepared))
    return count


def _apply(executor: MigrationExecutor, migration: Migration) -> None:
    executor.apply_migration(ProjectState(), migration)


def _has(executor: MigrationExecutor, migration: Migration) -> bool:
    return (migration.app_label, migration.name) in executor.recorder.applied_migrations()
