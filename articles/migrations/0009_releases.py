"""Releases and their members, their place in the record and the notices, and who may handle them."""

import django.db.models.deletion
from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.db import migrations, models

from articles.roles import grant

NEW_KIND = "rolled_back"


def grant_to_roles(apps, schema_editor):
    # Django makes permissions only after all migrations have run.
    config = apps.get_app_config("articles")
    config.models_module = True
    create_permissions(config, apps=apps, using=schema_editor.connection.alias, verbosity=0)
    config.models_module = None
    grant(apps, "release")


def offer_new_kind(apps, schema_editor):
    # Who chose notices before this kind existed did not choose against it.
    for choice in apps.get_model("articles", "NoticeChoice").objects.all():
        choice.desk, choice.mail = [*choice.desk, NEW_KIND], [*choice.mail, NEW_KIND]
        choice.save()


class Migration(migrations.Migration):
    dependencies = [
        ('articles', '0008_batches'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('status', models.CharField(choices=[('draft', 'In preparation'), ('scheduled', 'Scheduled'), ('published', 'Published'), ('failed', 'Failed'), ('cancelled', 'Cancelled'), ('rolled_back', 'Rolled back')], default='draft', max_length=20, verbose_name='status')),
                ('reason', models.TextField(blank=True, help_text='Why it failed: the articles and what is wrong.', verbose_name='reason')),
                ('publish_at', models.DateTimeField(blank=True, null=True, verbose_name='publish at')),
                ('published_at', models.DateTimeField(blank=True, editable=False, help_text='The one real time of all its articles.', null=True, verbose_name='went live')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('updated_at', models.DateTimeField(auto_now=True, verbose_name='last change')),
            ],
            options={
                'verbose_name': 'release',
                'verbose_name_plural': 'releases',
                'permissions': [('schedule_release', 'Can prepare, schedule, publish and roll back releases')],
                'default_permissions': ['view'],
            },
        ),
        migrations.CreateModel(
            name='ReleaseMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(help_text='Kept if the article is deleted.', max_length=200, verbose_name='headline')),
                ('action', models.CharField(choices=[('publish', 'Publish'), ('update', 'Put the newer text out'), ('withdraw', 'Take off')], max_length=10, verbose_name='what happens')),
                ('holds', models.BooleanField(default=True, editable=False, null=True)),
                ('old_status', models.SmallIntegerField(choices=[(0, 'Draft'), (1, 'Submitted'), (2, 'Rejected'), (3, 'Needs a reviewer'), (4, 'Approved by a person'), (8, 'Approved'), (9, 'Published'), (10, 'Withdrawn'), (11, 'Killed')], editable=False, help_text='Of the article, before it went out.', null=True)),
                ('old_revision', models.PositiveIntegerField(editable=False, help_text='What readers saw before its newer text went out.', null=True)),
            ],
            options={
                'verbose_name': 'article of a release',
                'verbose_name_plural': 'articles of a release',
                'ordering': ['id'],
                'default_permissions': (),
            },
        ),
        migrations.AddField(
            model_name='auditentry',
            name='release_id',
            field=models.BigIntegerField(blank=True, null=True, verbose_name="release's id"),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='release_name',
            field=models.CharField(blank=True, max_length=120, null=True, verbose_name='release'),
        ),
        migrations.AlterField(
            model_name='notice',
            name='kind',
            field=models.CharField(choices=[('refused', 'Refused'), ('approved', 'Approved'), ('published', 'Published'), ('failed', 'Failed'), ('overdue', 'Overdue'), ('pulled_back', 'Pulled back'), ('rolled_back', 'Rolled back')], max_length=20, verbose_name='about'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['release_id', 'id'], name='audit_release'),
        ),
        migrations.AddField(
            model_name='release',
            name='made_by',
            field=models.ForeignKey(editable=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='made by'),
        ),
        migrations.AddField(
            model_name='notice',
            name='release',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='articles.release', verbose_name='release'),
        ),
        migrations.AddField(
            model_name='releasemember',
            name='article',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='memberships', to='articles.article', verbose_name='article'),
        ),
        migrations.AddField(
            model_name='releasemember',
            name='release',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='articles.release', verbose_name='release'),
        ),
        migrations.AddIndex(
            model_name='release',
            index=models.Index(fields=['status', 'publish_at'], name='release_waiting'),
        ),
        migrations.AddConstraint(
            model_name='releasemember',
            constraint=models.UniqueConstraint(fields=('release', 'article'), name='release_member_once'),
        ),
        migrations.AddConstraint(
            model_name='releasemember',
            constraint=models.UniqueConstraint(fields=('article', 'holds'), name='release_member_held_once'),
        ),
        migrations.RunPython(grant_to_roles, migrations.RunPython.noop),
        migrations.RunPython(offer_new_kind, migrations.RunPython.noop),
    ]
