"""Up to when events were pruned: from then on it is recorded what readers saw."""

from django.db import migrations, models
from django.db.models import Exists, OuterRef

from articles.migrations._triggers import name_of, pruning


def note_pruned(apps, schema_editor):
    """Numbers have no gaps: before the last number without the one before, events are missing."""
    event, head = (apps.get_model("articles", name)._default_manager for name in ("Event", "FeedHead"))
    before = event.filter(seq=OuterRef("seq") - 1)
    first = event.filter(~Exists(before), seq__isnull=False).order_by("-seq").first()
    if first is not None:
        head.update(pruned_until=first.numbered_at)


def create(apps, schema_editor):
    for statement in pruning(schema_editor.connection.vendor):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {name_of(statement)}")  # of a migration that was interrupted
        schema_editor.execute(statement, params=None)


def drop(apps, schema_editor):
    for statement in pruning(schema_editor.connection.vendor):
        schema_editor.execute(f"DROP TRIGGER IF EXISTS {name_of(statement)}")


class Migration(migrations.Migration):
    dependencies = [("articles", "0063_shared_page_visits")]

    operations = [
        migrations.AddField("feedhead", "pruned_until", models.DateTimeField(null=True)),
        migrations.RunPython(create, drop, atomic=False),
        migrations.RunPython(note_pruned, migrations.RunPython.noop, atomic=False),
    ]
