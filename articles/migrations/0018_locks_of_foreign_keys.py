"""What changes when an article goes live locks no row of a person, a channel or a tag.

A notice has no foreign key that the database checks. And MariaDB checks that of a table whenever an entry of the index
changes in which the key was found: here those with the time to go live in them, which a release sets.
"""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


KEYS = {
    ("articles_article", "author_id"): ("article_author_newest", "author_id, publish_at, id"),
    ("articles_article", "channel_id"): ("article_channel_newest", "channel_id, publish_at, id"),
    ("articles_article_tags", "tag_id"): ("tagging_newest", "tag_id, publish_at, article_id"),
}
"""Foreign keys, and the index that stood in for one of their own. The first that fits is taken, so it is made anew."""


def give_keys_their_own_indexes(apps, schema_editor):
    if schema_editor.connection.vendor == "mysql":
        for (table, column), (shared, columns) in KEYS.items():
            schema_editor.execute(f"CREATE INDEX {table}_{column} ON {table} ({column})")
            schema_editor.execute(f"DROP INDEX {shared} ON {table}")
            schema_editor.execute(f"CREATE INDEX {shared} ON {table} ({columns})")


def take_them_away(apps, schema_editor):
    if schema_editor.connection.vendor == "mysql":
        for table, column in KEYS:
            schema_editor.execute(f"DROP INDEX {table}_{column} ON {table}")


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0017_change_feed'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(give_keys_their_own_indexes, take_them_away, atomic=False),
        migrations.AlterField(
            model_name='notice',
            name='article',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='articles.article', verbose_name='article'),
        ),
        migrations.AlterField(
            model_name='notice',
            name='person',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='notices', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='notice',
            name='release',
            field=models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='articles.release', verbose_name='release'),
        ),
    ]
