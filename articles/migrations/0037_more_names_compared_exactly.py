"""Names of users, groups, saved views and article templates are compared byte by byte, as those of channels and tags.

The default collation of MariaDB takes all emoji and all rare Chinese characters for one letter: no two users could be
called 陈𬭎 and 陈𬱖, and the first was found when the second was asked for.
"""

import unicodedata

import articles.models.names
from django.conf import settings
from django.db import migrations

COLUMNS = (("auth_user", "username", 150), ("auth_group", "name", 150))
EXACT, USUAL = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "CHARACTER SET utf8mb4"
FEW = 20


def make_exact(apps, schema_editor, options=EXACT):
    """Give names of Django's models a binary collation; their tables are small, and short of nothing while it lasts."""
    if schema_editor.connection.vendor != "mysql":
        return
    for table, column, length in COLUMNS:
        schema_editor.execute(f"ALTER TABLE {table} MODIFY {column} varchar({length}) {options} NOT NULL")


def make_usual(apps, schema_editor):
    """The collation of the table again, in which names that are told apart now may be equal: then it fails."""
    make_exact(apps, schema_editor, USUAL)


def bare(name):
    """The name without accents, width and ligatures, as the former collation compared it."""
    return "".join(char for char in unicodedata.normalize("NFKD", name) if not unicodedata.combining(char))


def report_merged(apps, schema_editor):
    """Print names with accents or other widths, under which other words may have been merged."""
    if schema_editor.connection.vendor != "mysql":
        return
    for model in ("Channel", "Tag"):
        rows = apps.get_model("articles", model).objects.using(schema_editor.connection.alias)
        found = sorted(name for name in rows.values_list("name", flat=True) if bare(name) != name)
        if found:
            more = f" and {len(found) - FEW} more" if len(found) > FEW else ""
            print(
                f"\n  {model}: before the last version, imports took names that differ in accents or width for one:"
                f" {', '.join(found[:FEW])}{more}; check their articles"
            )


class Migration(migrations.Migration):

    dependencies = [
        ("articles", "0036_names_compared_exactly"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="savedview",
            name="name",
            field=articles.models.names.NameField(max_length=60, verbose_name="name"),
        ),
        migrations.AlterField(
            model_name="articletemplate",
            name="name",
            field=articles.models.names.NameField(
                help_text="Such as “Match report”.", max_length=80, verbose_name="name"
            ),
        ),
        migrations.RunPython(make_exact, make_usual, atomic=False),
        migrations.RunPython(report_merged, migrations.RunPython.noop),
    ]
