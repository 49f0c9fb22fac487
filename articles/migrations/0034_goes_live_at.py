"""Lists are ordered by the time from which readers see an article, which the database computes."""

import django.db.models.functions.comparison
from django.db import migrations, models

from articles.models.base.column_triggers import with_triggers
from articles.models.base.repeatable import AddField

TIMES = ("publish_at", "embargo_until", "cleared_at")


def goes_live(greatest):
    """The column's value of the new row; MySQL has no generated columns in triggers."""
    held = (f"COALESCE(NEW.{name}, NEW.publish_at)" for name in TIMES[1:])
    return f"{greatest}(NEW.publish_at, {', '.join(held)})"


NEW_TRIGGERS = {
    # Locked, or a time that is changed at the same moment would be missed.
    "mysql": [
        "CREATE TRIGGER tagging_gets_time BEFORE INSERT ON articles_article_tags FOR EACH ROW BEGIN"
        " DECLARE moment DATETIME(6);"
        " SELECT goes_live_at INTO moment FROM articles_article WHERE id = NEW.article_id LOCK IN SHARE MODE;"
        " SET NEW.publish_at = moment; END",
        "CREATE TRIGGER taggings_follow_time AFTER UPDATE ON articles_article FOR EACH ROW BEGIN"
        f" IF NOT ({' AND '.join(f'NEW.{name} <=> OLD.{name}' for name in TIMES)}) THEN"
        f" UPDATE articles_article_tags SET publish_at = {goes_live('GREATEST')} WHERE article_id = NEW.id; END IF; END",
    ],
    "sqlite": [
        "CREATE TRIGGER tagging_gets_time AFTER INSERT ON articles_article_tags BEGIN"
        " UPDATE articles_article_tags SET publish_at ="
        " (SELECT goes_live_at FROM articles_article WHERE id = NEW.article_id) WHERE id = NEW.id; END",
        f"CREATE TRIGGER taggings_follow_time AFTER UPDATE OF {', '.join(TIMES)} ON articles_article"
        f" WHEN {' OR '.join(f'NEW.{name} IS NOT OLD.{name}' for name in TIMES)} BEGIN"
        f" UPDATE articles_article_tags SET publish_at = {goes_live('MAX')} WHERE article_id = NEW.id; END",
    ],
}

FILL = (
    "UPDATE articles_article_tags SET publish_at ="
    " (SELECT goes_live_at FROM articles_article WHERE articles_article.id = article_id)"
    " WHERE article_id IN (SELECT id FROM articles_article WHERE embargo_until > publish_at)"
)


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0033_unseen_schedules'),
    ]

    operations = [
        *with_triggers(
            AddField(
                model_name='article',
                name='cleared_at',
                field=models.DateTimeField(editable=False, help_text='When it was approved, or its time or embargo was last changed. Readers cannot see it before.', null=True, verbose_name='cleared'),
            ),
            AddField(
                model_name='article',
                name='goes_live_at',
                field=models.GeneratedField(db_persist=False, expression=django.db.models.functions.comparison.Greatest('publish_at', django.db.models.functions.comparison.Coalesce('embargo_until', 'publish_at'), django.db.models.functions.comparison.Coalesce('cleared_at', 'publish_at')), help_text='From when readers see it, once it is approved.', null=True, output_field=models.DateTimeField(), verbose_name='goes live'),
            ),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
