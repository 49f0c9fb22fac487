"""The table behind `Article.tags` gets a copy of each article's time, an index by it, and triggers that keep it true."""

import django.db.models.deletion
from django.db import migrations, models

from articles.migrations._triggers import PUBLISH_AT, taggings

INDEX = "CREATE INDEX tagging_newest ON articles_article_tags (tag_id, publish_at, article_id)"
FILL = (
    "UPDATE articles_article_tags SET publish_at ="
    " (SELECT publish_at FROM articles_article WHERE articles_article.id = article_id)"
)


def put_up(apps, schema_editor):
    kind = {"mysql": "datetime(6)", "sqlite": "datetime"}[schema_editor.connection.vendor]
    schema_editor.execute(f"ALTER TABLE articles_article_tags ADD COLUMN publish_at {kind} NULL")
    for statement in [FILL, INDEX, *taggings(schema_editor.connection.vendor, PUBLISH_AT)]:
        schema_editor.execute(statement, params=None)


def take_down(apps, schema_editor):
    on = " ON articles_article_tags" if schema_editor.connection.vendor == "mysql" else ""
    schema_editor.execute("DROP TRIGGER taggings_follow_time")
    schema_editor.execute("DROP TRIGGER tagging_gets_time")
    schema_editor.execute(f"DROP INDEX tagging_newest{on}")
    schema_editor.execute("ALTER TABLE articles_article_tags DROP COLUMN publish_at")


class Migration(migrations.Migration):
    dependencies = [("articles", "0013_one_embargo_index")]

    operations = [
        migrations.RunPython(put_up, take_down, atomic=False),
        migrations.CreateModel(
            name="Tagging",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("publish_at", models.DateTimeField(null=True)),
                (
                    "article",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="taggings",
                        to="articles.article",
                    ),
                ),
                (
                    "tag",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.DO_NOTHING, related_name="+", to="articles.tag"
                    ),
                ),
            ],
            options={"db_table": "articles_article_tags", "managed": False, "default_permissions": ()},
        ),
    ]
