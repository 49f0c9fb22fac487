"""Triggers that keep the audit record as it was written, whoever tries."""

from django.db import migrations

TABLE = "articles_auditentry"
MESSAGE = "The audit record is never changed or deleted."

CREATE = {
    "mysql": "CREATE TRIGGER {name} BEFORE {verb} ON {table} FOR EACH ROW"
    " SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{message}'",
    "sqlite": "CREATE TRIGGER {name} BEFORE {verb} ON {table} BEGIN SELECT RAISE(ABORT, '{message}'); END",
}


def statements(vendor):
    for verb in ("UPDATE", "DELETE"):
        yield CREATE[vendor].format(name=f"audit_refuses_{verb.lower()}", verb=verb, table=TABLE, message=MESSAGE)


def put_up(apps, schema_editor):
    for statement in statements(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def take_down(apps, schema_editor):
    for verb in ("update", "delete"):
        schema_editor.execute(f"DROP TRIGGER audit_refuses_{verb}", params=None)


class Migration(migrations.Migration):
    dependencies = [("articles", "0002_roles")]

    operations = [migrations.RunPython(put_up, take_down, atomic=False)]
