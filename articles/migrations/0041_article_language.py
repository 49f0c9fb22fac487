"""The language of articles, and the indexes of lists by it."""

from django.db import migrations, models

from articles.migrations._triggers import with_triggers
from articles.models.base.repeatable import AddField, AddIndex
from articles.models.base.text_language import LanguageOf


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0040_fronts'),
    ]

    operations = with_triggers(
        AddField(
            model_name='article',
            name='language',
            field=models.GeneratedField(db_persist=False, expression=LanguageOf('title'), null=True, output_field=models.CharField(max_length=10), verbose_name='language'),
        ),
        AddIndex(
            model_name='article',
            index=models.Index(fields=['language', 'goes_live_at', 'id'], name='article_by_language'),
        ),
        AddIndex(
            model_name='article',
            index=models.Index(fields=['channel', 'language', 'goes_live_at', 'id'], name='article_by_both'),
        ),
    )
