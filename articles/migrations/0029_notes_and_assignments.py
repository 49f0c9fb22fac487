"""Notes, and the owner and due time of an article; stored notification preferences get the new kinds."""

import django.db.models.deletion
import uuid
from django.conf import settings
from django.db import migrations, models

from articles.migrations._triggers import with_triggers

SHOWN = ["mentioned", "noted", "assigned"]
MAILED = ["mentioned", "assigned"]


def add_kinds(apps, schema_editor):
    for chosen in apps.get_model("articles", "NotificationPreference").objects.all():
        chosen.desk = [*chosen.desk, *SHOWN]
        chosen.mail = [*chosen.mail, *MAILED]
        chosen.save()


def remove_kinds(apps, schema_editor):
    for chosen in apps.get_model("articles", "NotificationPreference").objects.all():
        chosen.desk = [kind for kind in chosen.desk if kind not in SHOWN]
        chosen.mail = [kind for kind in chosen.mail if kind not in MAILED]
        chosen.save()


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0028_review_stages'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        *with_triggers(
            migrations.AddField(
                model_name='article',
                name='due_at',
                field=models.DateTimeField(blank=True, help_text='When the owner has to be ready. Readers never see this.', null=True, verbose_name='due'),
            ),
            migrations.AddField(
                model_name='article',
                name='owner',
                field=models.ForeignKey(blank=True, help_text='Who has to finish it. Readers never see this.', null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='owned_articles', to=settings.AUTH_USER_MODEL, verbose_name='owner'),
            ),
        ),
        migrations.AlterField(
            model_name='notification',
            name='kind',
            field=models.CharField(choices=[('submitted', 'Waiting for review'), ('rejected', 'Rejected'), ('approved', 'Approved'), ('published', 'Published'), ('failed', 'Failed'), ('overdue', 'Overdue'), ('pulled_back', 'Approval revoked'), ('rolled_back', 'Rolled back'), ('mentioned', 'Mentioned'), ('noted', 'New note'), ('assigned', 'Assigned')], max_length=20, verbose_name='about'),
        ),
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('text', models.TextField(verbose_name='text')),
                ('quote', models.TextField(blank=True, help_text='The passage; empty for the whole article.', verbose_name='quote')),
                ('prefix', models.CharField(blank=True, max_length=64, verbose_name='text before the quote')),
                ('suffix', models.CharField(blank=True, max_length=64, verbose_name='text after the quote')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('edited_at', models.DateTimeField(null=True, verbose_name='edited')),
                ('resolved_at', models.DateTimeField(null=True, verbose_name='resolved')),
                ('article', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='articles.article')),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('resolved_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('thread', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replies', to='articles.note')),
            ],
            options={
                'verbose_name': 'note',
                'verbose_name_plural': 'notes',
                'default_permissions': (),
                'indexes': [models.Index(fields=['article', 'created_at'], name='note_article')],
            },
        ),
        migrations.RunPython(add_kinds, remove_kinds),
    ]
