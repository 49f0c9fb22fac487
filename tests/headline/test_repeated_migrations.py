"""Plain tokens become hashed ones, also where an earlier attempt has left the migration halfway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from headline.api.models import ApiToken
from tests.upgrades.databases import other_database

pytestmark = pytest.mark.django_db(transaction=True)

LAST = ("headline_api", "0005_service_accounts")
"""The next one needs all migrations of articles, which take long; those of `make upgrades` run it, too."""
AUTH = ("auth", "0012_alter_user_first_name_max_length")
TOKENS_OF_REST_FRAMEWORK = "CREATE TABLE authtoken_token ({} varchar(40) PRIMARY KEY, user_id integer NOT NULL)"


def migrate(*targets: tuple[str, str]) -> Any:
    """The apps as they are after these migrations and what they need: no other app's tables are made."""
    return MigrationExecutor(connection).migrate(targets).apps


def insert_plain_token(apps: Any) -> None:
    """A token of Django REST framework's, as versions before hashed tokens stored it."""
    key = connection.ops.quote_name("key")
    user = apps.get_model("auth", "User").objects.create(username="alice")
    values = ["9944b09199c62bcf9418ad846dd0e4bbdfc6ee4b", user.pk]
    with connection.cursor() as cursor:
        cursor.execute(TOKENS_OF_REST_FRAMEWORK.format(key))
        cursor.execute(f"INSERT INTO authtoken_token ({key}, user_id) VALUES (%s, %s)", values)  # noqa: S608


def leave_new_table() -> None:
    """The table, with its rows not yet migrated and its foreign key not yet made."""
    name = ("headline_api", "0003_api_tokens")
    model = MigrationExecutor(connection).loader.project_state([name]).apps.get_model("headline_api", "ApiToken")
    with connection.schema_editor() as editor:
        editor.create_model(model)
        editor.deferred_sql.clear()


@pytest.mark.parametrize("is_half_made", [False, True])
def test_plain_tokens_are_migrated_also_where_an_attempt_has_left_the_new_table(
    is_half_made: bool, tmp_path: Path
) -> None:
    """Versions before created the new table and dropped the old one in a transaction, which MariaDB refuses."""
    with other_database(tmp_path):
        insert_plain_token(migrate(AUTH, ("headline_api", "0002_names")))
        if is_half_made and connection.vendor == "mysql":
            leave_new_table()
        migrate(LAST)
        assert ApiToken.objects.get().user.username == "alice"
        assert "authtoken_token" not in connection.introspection.table_names()
        with connection.cursor() as cursor:
            keys = connection.introspection.get_relations(cursor, "headline_api_apitoken")
        assert set(keys) == {"user_id"}
