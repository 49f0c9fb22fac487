"""Migrations of filled databases, also of those that an earlier attempt has left halfway."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from headline.api.models import ApiToken

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

OTHER = "headline_upgraded"
AUTH = ("auth", "0012_alter_user_first_name_max_length")
TOKENS_OF_REST_FRAMEWORK = "CREATE TABLE authtoken_token ({} varchar(40) PRIMARY KEY, user_id integer NOT NULL)"


@pytest.fixture
def _empty_database(tmp_path: Path) -> Iterator[None]:
    """Another database, without tables, for this test."""
    usual = connection.settings_dict["NAME"]
    is_sqlite = connection.vendor == "sqlite"
    if not is_sqlite:
        with connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {OTHER}")
    connection.close()
    connection.settings_dict["NAME"] = str(tmp_path / "upgraded.sqlite3") if is_sqlite else OTHER
    yield
    if not is_sqlite:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {OTHER}")
    connection.close()
    connection.settings_dict["NAME"] = usual


def insert_plain_token() -> str:
    """A token of Django REST framework's, as versions before hashed tokens stored it."""
    plain = "9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b"
    key = connection.ops.quote_name("key")
    apps = MigrationExecutor(connection).loader.project_state([AUTH]).apps
    user = apps.get_model("auth", "User").objects.create(username="alice")
    with connection.cursor() as cursor:
        cursor.execute(TOKENS_OF_REST_FRAMEWORK.format(key))
        cursor.execute(f"INSERT INTO authtoken_token ({key}, user_id) VALUES (%s, %s)", [plain, user.pk])  # noqa: S608
    return plain


@pytest.mark.usefixtures("_empty_database")
@pytest.mark.parametrize("is_half_made", [False, True])
def test_plain_tokens_are_migrated_also_where_an_attempt_has_left_the_new_table(is_half_made: bool) -> None:
    """Versions before created the new table and dropped the old one in a transaction, which MariaDB refuses."""
    MigrationExecutor(connection).migrate([AUTH, ("headline_api", "0002_names")])
    insert_plain_token()
    if is_half_made and connection.vendor == "mysql":
        with connection.schema_editor() as editor:
            editor.create_model(ApiToken)
            editor.deferred_sql.clear()
    call_command("migrate", verbosity=0)
    assert ApiToken.objects.get().user.username == "alice"
    assert "authtoken_token" not in connection.introspection.table_names()
    with connection.cursor() as cursor:
        keys = connection.introspection.get_relations(cursor, "headline_api_apitoken")
    assert set(keys) == {"user_id"}
