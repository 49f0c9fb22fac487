"""The indexes of lists follow `goes_live_at`; those by `publish_at` and the embargo alone are no longer needed."""

from django.db import migrations, models

from articles.migrations._triggers import with_triggers
from articles.models.base.repeatable import AddIndex, AlterIndexedField, RemoveIndex


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0034_goes_live_at'),
    ]

    operations = with_triggers(
        AddIndex(
            model_name='article',
            index=models.Index(fields=['status', 'goes_live_at'], name='article_by_status'),
        ),
        AddIndex(
            model_name='article',
            index=models.Index(fields=['goes_live_at', 'id'], name='article_by_time'),
        ),
        AddIndex(
            model_name='article',
            index=models.Index(fields=['channel', 'goes_live_at', 'id'], name='article_by_channel'),
        ),
        AddIndex(
            model_name='article',
            index=models.Index(fields=['author', 'goes_live_at', 'id'], name='article_by_author'),
        ),
        RemoveIndex(
            model_name='article',
            name='article_waiting',
        ),
        RemoveIndex(
            model_name='article',
            name='article_newest',
        ),
        RemoveIndex(
            model_name='article',
            name='article_channel_newest',
        ),
        RemoveIndex(
            model_name='article',
            name='article_author_newest',
        ),
        AlterIndexedField(
            model_name='article',
            name='embargo_until',
            field=models.DateTimeField(blank=True, null=True, verbose_name='embargo until'),
        ),
        migrations.AlterField(
            model_name='article',
            name='published_at',
            field=models.DateTimeField(blank=True, editable=False, help_text='From when readers could see it.', null=True, verbose_name='went live'),
        ),
    )
