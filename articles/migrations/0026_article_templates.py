"""Article templates, which the chief manages."""

import django.db.models.deletion
from django.contrib.auth.management import create_permissions
from django.db import migrations, models

from articles.roles import grant


def grant_to_roles(apps, schema_editor):
    # Django makes permissions only after all migrations have run.
    config = apps.get_app_config("articles")
    config.models_module = True
    create_permissions(config, apps=apps, using=schema_editor.connection.alias, verbosity=0)
    config.models_module = None
    grant(apps, "articletemplate")


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0025_stamps_and_unused_indexes'),
    ]

    operations = [
        migrations.CreateModel(
            name='ArticleTemplate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='Such as “Match report”.', max_length=80, verbose_name='name')),
                ('title', models.CharField(blank=True, max_length=200, verbose_name='headline')),
                ('summary', models.CharField(blank=True, max_length=500, verbose_name='summary')),
                ('body', models.TextField(blank=True, max_length=1000000, verbose_name='body')),
                ('channel', models.ForeignKey(blank=True, help_text='Empty: for articles of any channel.', null=True, on_delete=django.db.models.deletion.CASCADE, related_name='templates', to='articles.channel', verbose_name='channel')),
                ('tags', models.ManyToManyField(blank=True, related_name='+', to='articles.tag', verbose_name='tags')),
            ],
            options={
                'verbose_name': 'article template',
                'verbose_name_plural': 'article templates',
                'ordering': ['name'],
                'constraints': [models.UniqueConstraint(fields=('channel', 'name'), name='article_template_name')],
            },
        ),
        migrations.RunPython(grant_to_roles, migrations.RunPython.noop),
    ]
