"""Events, and the change feed as a view of them: its entries move into their table."""

from django.db import migrations, models

_MOVE = """
    INSERT INTO articles_event
    (kind, object_id, revision, happened_at, payload, seq, numbered_at, state, feed_seq)
    SELECT CASE state WHEN 'live' THEN 'article.published' WHEN 'retracted' THEN 'article.retracted'
    ELSE 'article.unpublished' END, article_id, 0, at, '{}', sequence, entered_at, state, sequence
    FROM articles_feedentry WHERE sequence NOT IN (SELECT seq FROM articles_event WHERE seq IS NOT NULL)
    ORDER BY sequence
"""
_MOVE_BACK = """
    INSERT INTO articles_feedentry (article_id, sequence, state, at, entered_at)
    SELECT object_id, feed_seq, state, happened_at, numbered_at
    FROM articles_event WHERE feed_seq IS NOT NULL AND feed_seq NOT IN (SELECT sequence FROM articles_feedentry)
    ORDER BY feed_seq
"""


def move_entries(apps, schema_editor):
    # A migration that was interrupted may have dropped the table.
    if "articles_feedentry" in schema_editor.connection.introspection.table_names():
        schema_editor.execute(_MOVE)


def move_back(apps, schema_editor):
    if "articles_event" in schema_editor.connection.introspection.table_names():
        schema_editor.execute(_MOVE_BACK)


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0042_alert_open_and_card_is_one'),
    ]

    operations = [
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('article.published', 'Article published'), ('article.updated', 'Article updated'), ('article.corrected', 'Article corrected'), ('article.unpublished', 'Article unpublished'), ('article.republished', 'Article republished'), ('article.retracted', 'Article retracted'), ('article.scheduled', 'Article scheduled'), ('article.unscheduled', 'Article unscheduled'), ('release.published', 'Release published'), ('release.failed', 'Release failed'), ('release.rolled_back', 'Release rolled back'), ('front.live', 'Front page changed')], max_length=32, verbose_name='kind')),
                ('object_id', models.BigIntegerField(verbose_name='object ID')),
                ('revision', models.PositiveIntegerField(default=0, verbose_name='revision')),
                ('planned_at', models.DateTimeField(blank=True, null=True, verbose_name='planned for')),
                ('happened_at', models.DateTimeField(verbose_name='time')),
                ('payload', models.JSONField(blank=True, default=dict, verbose_name='more')),
                ('seq', models.BigIntegerField(null=True, unique=True, verbose_name='number')),
                ('numbered_at', models.DateTimeField(db_index=True, null=True)),
                ('state', models.CharField(blank=True, choices=[('live', 'Live'), ('unpublished', 'Unpublished'), ('retracted', 'Retracted'), ('deleted', 'Deleted')], max_length=12)),
                ('feed_seq', models.BigIntegerField(null=True, unique=True)),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'default_permissions': (),
            },
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.UniqueConstraint(fields=('object_id', 'kind', 'revision', 'happened_at'), name='event_once'),
        ),
        migrations.RunPython(move_entries, move_back, atomic=False),
        migrations.DeleteModel(name='FeedEntry'),
    ]
