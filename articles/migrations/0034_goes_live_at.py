"""Lists are ordered by the time from which readers see an article, which the database computes."""

import django.db.models.functions.comparison
from django.db import migrations, models

from articles.migrations._triggers import with_triggers
from articles.models.base.repeatable import AddField

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
