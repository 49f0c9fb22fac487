"""Webhooks, which the chief and operators manage."""

import django.db.models.deletion
from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.db import migrations, models

from articles.roles import grant


def grant_to_roles(apps, schema_editor):
    # Django makes permissions only after all migrations have run.
    config = apps.get_app_config("articles")
    config.models_module = True
    create_permissions(config, apps=apps, using=schema_editor.connection.alias, verbosity=0)
    config.models_module = None
    grant(apps, "endpoint")


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0045_events'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('url', models.CharField(max_length=2000, verbose_name='URL')),
                ('description', models.CharField(blank=True, max_length=300, verbose_name='description')),
                ('kinds', models.JSONField(blank=True, default=list, verbose_name='events')),
                ('languages', models.JSONField(blank=True, default=list, verbose_name='languages')),
                ('is_full', models.BooleanField(default=False, help_text='Otherwise only the kind of the event, the number and the address of the article.', verbose_name='with headline and summary')),
                ('hears_newsroom', models.BooleanField(default=False, help_text='Schedules and failed releases, without any text. Needs a permission of its own.', verbose_name='also what is not out')),
                ('enabled', models.BooleanField(default=True, help_text='While it is paused, events wait for it.', verbose_name='enabled')),
                ('secret', models.CharField(editable=False, max_length=100)),
                ('old_secret', models.CharField(blank=True, editable=False, max_length=100)),
                ('old_secret_until', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('position', models.BigIntegerField(default=0, editable=False)),
                ('failing_since', models.DateTimeField(editable=False, null=True)),
                ('failed_at', models.DateTimeField(editable=False, null=True)),
                ('is_owner_mailed', models.BooleanField(default=False, editable=False)),
                ('paused_because', models.CharField(blank=True, editable=False, max_length=20)),
                ('resumes_at', models.DateTimeField(editable=False, null=True)),
                ('leased_until', models.DateTimeField(editable=False, null=True)),
                ('lease_token', models.CharField(blank=True, editable=False, max_length=36)),
                ('channels', models.ManyToManyField(blank=True, help_text='Empty: all.', related_name='+', to='articles.channel', verbose_name='channels')),
                ('owner', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='owner')),
            ],
            options={
                'verbose_name': 'webhook',
                'verbose_name_plural': 'webhooks',
                'ordering': ['pk'],
                'permissions': [('manage_webhooks', 'Can manage webhooks'), ('send_schedules', 'Can let webhooks hear of what is not out')],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('object_id', models.BigIntegerField(null=True, verbose_name='object ID')),
                ('state', models.CharField(choices=[('pending', 'Waiting'), ('delivered', 'Delivered'), ('failed', 'Failed for good'), ('dropped', 'Dropped')], default='pending', max_length=10, verbose_name='state')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(verbose_name='next attempt')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='last attempt')),
                ('kind', models.CharField(blank=True, max_length=32, verbose_name='sent as')),
                ('code', models.PositiveSmallIntegerField(null=True, verbose_name='answer')),
                ('ms', models.PositiveIntegerField(null=True, verbose_name='duration in ms')),
                ('late_ms', models.BigIntegerField(null=True, verbose_name='late by ms')),
                ('error', models.CharField(blank=True, max_length=200, verbose_name='error')),
                ('body', models.TextField(blank=True, verbose_name='request')),
                ('response', models.CharField(blank=True, max_length=1000, verbose_name='text of the answer')),
                ('event', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='articles.event', verbose_name='event')),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='articles.endpoint', verbose_name='webhook')),
            ],
            options={
                'verbose_name': 'delivery',
                'verbose_name_plural': 'deliveries',
                'ordering': ['-pk'],
                'default_permissions': (),
                'indexes': [models.Index(fields=['endpoint', 'state', 'due_at'], name='delivery_due'), models.Index(fields=['endpoint', 'sent_at'], name='delivery_sent'), models.Index(fields=['endpoint', 'object_id'], name='delivery_object')],
                'constraints': [models.UniqueConstraint(fields=('endpoint', 'event'), name='delivery_once')],
            },
        ),
        migrations.RunPython(grant_to_roles, migrations.RunPython.noop),
    ]
