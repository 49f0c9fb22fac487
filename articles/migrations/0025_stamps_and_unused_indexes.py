"""Drops indexes that no query uses, and creates the triggers again: stamps are no changes for the feed."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from articles.migrations._triggers import with_triggers


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0024_text_lines'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = with_triggers(
        migrations.AlterField(
            model_name='article',
            name='slug',
            field=models.SlugField(allow_unicode=True, blank=True, db_index=False, help_text='The last part of the URL. Leave empty to create it from the headline.', max_length=200, verbose_name='slug'),
        ),
        migrations.AlterField(
            model_name='notification',
            name='article',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='articles.article', verbose_name='article'),
        ),
        migrations.AlterField(
            model_name='notification',
            name='user',
            field=models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notifications', to=settings.AUTH_USER_MODEL),
        ),
    )
