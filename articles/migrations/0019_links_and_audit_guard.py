"""Preview links show what they were made for; SQLite's REPLACE, which deletes without a trigger, is refused, too."""

from django.db import migrations

from articles.migrations._triggers import audit_guard_of_replace


def pin_links(apps, schema_editor):
    """Until now a link showed the newest text unless it was told otherwise; from now on only who asks for that gets it."""
    PreviewLink, Revision = apps.get_model("articles", "PreviewLink"), apps.get_model("articles", "Revision")
    for link in PreviewLink.objects.filter(revision=None).iterator():
        earlier = Revision.objects.filter(article=link.article_id, created_at__lte=link.made_at)
        link.revision = earlier.order_by("-number").first() or Revision.objects.filter(article=link.article_id).first()
        link.save(update_fields=["revision"])


def put_up(apps, schema_editor):
    for statement in audit_guard_of_replace(schema_editor.connection.vendor):
        schema_editor.execute(statement, params=None)


def take_down(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER audit_refuses_replace", params=None)


class Migration(migrations.Migration):
    dependencies = [("articles", "0018_locks_of_foreign_keys")]

    operations = [
        migrations.RunPython(pin_links, migrations.RunPython.noop),
        migrations.RunPython(put_up, take_down, atomic=False),
    ]
