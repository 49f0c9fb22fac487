"""Recurring versions of fronts: their rules, and their occurrences."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0058_shared_pages'),
    ]

    operations = [
        migrations.AddField(
            model_name='frontversion',
            name='repeats',
            field=models.JSONField(blank=True, help_text='The rule of its occurrences; the first one is `live_from`.', null=True, verbose_name='repeats'),
        ),
        migrations.CreateModel(
            name='FrontSeries',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.DateTimeField()),
                ('last', models.DateTimeField()),
                ('front', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='series', to='articles.front')),
                ('version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='series', to='articles.frontversion')),
            ],
            options={
                'verbose_name': 'occurrences of a front version',
                'verbose_name_plural': 'occurrences of front versions',
                'default_permissions': (),
                'indexes': [models.Index(fields=['front', 'last'], name='front_series_of_front'), models.Index(fields=['last', 'first'], name='front_series_running'), models.Index(fields=['first'], name='front_series_next')],
                'constraints': [models.UniqueConstraint(fields=('front', 'first'), name='front_series_first')],
            },
        ),
    ]
