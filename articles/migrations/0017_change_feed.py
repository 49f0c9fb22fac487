"""The change feed, and the triggers that note every write of what readers see, whatever makes it."""

from django.db import migrations, models

from articles.migrations._triggers import NOW, VISIBLE, feed

TEXTS = ("title", "slug", "summary", "body", "byline", "cover")


def put_up(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in feed(vendor, TEXTS):
        schema_editor.execute(statement, params=None)
    schema_editor.execute(
        "INSERT INTO articles_pendingchange (article_id, is_visible, at)"
        f" SELECT id, 1, {NOW[vendor]} FROM articles_article WHERE status IN {VISIBLE} ORDER BY publish_at, id",
        params=None,
    )
    schema_editor.execute(
        "INSERT INTO articles_feedhead (id, sequence, looked_at)"
        f" SELECT 1, 0, {NOW[vendor]} FROM (SELECT COUNT(*) AS heads FROM articles_feedhead) counted WHERE heads = 0",
        params=None,
    )


def take_down(apps, schema_editor):
    for statement in feed(schema_editor.connection.vendor, TEXTS):
        name = statement.split()[2]
        schema_editor.execute(f"DROP TRIGGER {name}")


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0016_what_approvals_cover'),
    ]

    operations = [
        migrations.CreateModel(
            name='FeedEntry',
            fields=[
                ('article_id', models.BigIntegerField(primary_key=True, serialize=False)),
                ('sequence', models.BigIntegerField(unique=True)),
                ('state', models.CharField(choices=[('live', 'Live'), ('unpublished', 'Unpublished'), ('retracted', 'Retracted'), ('deleted', 'Deleted')], max_length=12)),
                ('at', models.DateTimeField()),
                ('entered_at', models.DateTimeField(db_index=True)),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='FeedHead',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('sequence', models.BigIntegerField(default=0)),
                ('looked_at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.CreateModel(
            name='PendingChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('article_id', models.BigIntegerField()),
                ('is_visible', models.BooleanField()),
                ('at', models.DateTimeField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
        migrations.RunPython(put_up, take_down, atomic=False),
    ]
