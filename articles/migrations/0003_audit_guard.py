"""Triggers that keep the audit record as it was written, whoever tries."""

from django.db import migrations

from articles.migrations._triggers import audit_guard


def put_up(apps, schema_editor):
    for statement in audit_guard(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def take_down(apps, schema_editor):
    for verb in ("update", "delete"):
        schema_editor.execute(f"DROP TRIGGER audit_refuses_{verb}", params=None)


class Migration(migrations.Migration):
    dependencies = [("articles", "0002_roles")]

    operations = [migrations.RunPython(put_up, take_down, atomic=False)]
