"""Names of channels and tags are compared byte by byte; the default collation took all emoji for one letter."""

import articles.models.names
from django.db import migrations

FIRST_BEYOND = "\U00010000"  # characters that the default collation of MariaDB cannot tell apart


def report_merged(apps, schema_editor):
    """Print the names under which others may have been merged, for an editor to look at."""
    if schema_editor.connection.vendor != "mysql":
        return
    for name in ("Channel", "Tag"):
        rows = apps.get_model("articles", name).objects.using(schema_editor.connection.alias)
        found = [row for row in rows.values_list("name", flat=True) if any(char >= FIRST_BEYOND for char in row)]
        if found:
            print(f"\n  {name}: other names may have been merged with {', '.join(sorted(found))}; check their articles")


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0035_lists_by_goes_live_at'),
    ]

    operations = [
        migrations.AlterField(
            model_name='channel',
            name='name',
            field=articles.models.names.NameField(max_length=80, unique=True, verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='tag',
            name='name',
            field=articles.models.names.NameField(max_length=80, unique=True, verbose_name='name'),
        ),
        migrations.RunPython(report_merged, migrations.RunPython.noop),
    ]
