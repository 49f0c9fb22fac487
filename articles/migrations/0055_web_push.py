"""Pushes of breaking alerts, and who may send them in quiet hours."""

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
    grant(apps, "alert")


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0050_front_drafts'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='alert',
            options={'default_permissions': (), 'ordering': ['-pk'], 'permissions': [('push_in_quiet_hours', 'Can push breaking alerts in quiet hours')], 'verbose_name': 'breaking alert', 'verbose_name_plural': 'breaking alerts'},
        ),
        migrations.AddField(
            model_name='alert',
            name='in_quiet_hours',
            field=models.BooleanField(default=False, verbose_name='push in quiet hours'),
        ),
        migrations.AddField(
            model_name='alert',
            name='push',
            field=models.BooleanField(default=False, help_text='Also sent to readers who want it, once the article is published.', verbose_name='push'),
        ),
        migrations.AddField(
            model_name='alert',
            name='push_since',
            field=models.DateTimeField(db_index=True, editable=False, null=True),
        ),
        migrations.CreateModel(
            name='Push',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=60, unique=True)),
                ('text', models.CharField(max_length=140)),
                ('state', models.CharField(choices=[('sending', 'Sending'), ('sent', 'Sent'), ('cancelled', 'Cancelled')], default='sending', max_length=10)),
                ('reason', models.CharField(blank=True, choices=[('off', 'the alert was turned off or deleted'), ('not_live', 'readers no longer saw the article'), ('over', 'the time of the alert was over'), ('quiet', 'it was due in quiet hours'), ('restored', 'a backup was restored')], max_length=10)),
                ('last_subscription', models.BigIntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('due_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('accepted', models.PositiveIntegerField(default=0)),
                ('failed', models.PositiveIntegerField(default=0)),
                ('doubtful', models.PositiveIntegerField(default=0)),
                ('gone', models.PositiveIntegerField(default=0)),
                ('leased_until', models.DateTimeField(null=True)),
                ('lease_token', models.CharField(blank=True, max_length=36)),
                ('alert', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='pushes', to='articles.alert')),
                ('article', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='articles.article')),
                ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'push',
                'verbose_name_plural': 'pushes',
                'ordering': ['-pk'],
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='PushSubscription',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('endpoint', models.CharField(max_length=1000)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('host', models.CharField(max_length=255)),
                ('p256dh', models.CharField(max_length=100)),
                ('auth', models.CharField(max_length=30)),
                ('breaking', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('channels', models.ManyToManyField(related_name='+', to='articles.channel')),
            ],
            options={
                'verbose_name': 'push subscription',
                'verbose_name_plural': 'push subscriptions',
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='PushMessage',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('sending', 'Sending'), ('accepted', 'Accepted'), ('waiting', 'Waiting'), ('failed', 'Failed'), ('doubtful', 'Doubtful')], default='sending', max_length=10)),
                ('attempts', models.PositiveSmallIntegerField(default=1)),
                ('code', models.PositiveSmallIntegerField(null=True)),
                ('sent_at', models.DateTimeField()),
                ('due_at', models.DateTimeField(null=True)),
                ('push', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='articles.push')),
                ('subscription', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='articles.pushsubscription')),
            ],
            options={
                'verbose_name': 'push message',
                'verbose_name_plural': 'push messages',
                'default_permissions': (),
            },
        ),
        migrations.AddIndex(
            model_name='push',
            index=models.Index(fields=['state', 'due_at'], name='push_due'),
        ),
        migrations.AddIndex(
            model_name='pushsubscription',
            index=models.Index(fields=['host'], name='push_subscription_host'),
        ),
        migrations.AddIndex(
            model_name='pushmessage',
            index=models.Index(fields=['subscription', 'sent_at'], name='push_message_sent'),
        ),
        migrations.AddIndex(
            model_name='pushmessage',
            index=models.Index(fields=['push', 'state', 'due_at'], name='push_message_due'),
        ),
        migrations.AddConstraint(
            model_name='pushmessage',
            constraint=models.UniqueConstraint(fields=('push', 'subscription'), name='push_once'),
        ),
        migrations.RunPython(grant_to_roles, migrations.RunPython.noop, elidable=True),
    ]
