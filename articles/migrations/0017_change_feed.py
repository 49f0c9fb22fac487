"""The change feed, and the triggers that note every write of what readers see, whatever makes it."""

from django.db import migrations, models

# Compared to the byte: a database may take "Oslo" and "oslo" for the same.
TEXTS = ("title", "slug", "summary", "body", "byline", "cover")
OTHERS = ("channel_id", "author_id", "publish_at", "published_at", "text_changed_at")
SHOWING = ("status", "unpublish_at", "embargo_until")
# A stamp sets the status and when an article went live, but none of the times that come with another change. Readers
# see the article by the clock, and comparing the texts takes a third of the time of a full hour.
TIMES_OF_CHANGES = ("publish_at", "unpublish_at", "embargo_until", "text_changed_at", "updated_at")
PASSED = "(4, 8, 9, 10, 11)"  # approved, out, or out once
VISIBLE = "(4, 8, 9)"
NOW = {"mysql": "UTC_TIMESTAMP(6)", "sqlite": "STRFTIME('%Y-%m-%d %H:%M:%f', 'now')"}
# Readers see nothing of an article that waits, and then waits for another time: unless one of them comes while the
# transaction goes on, which no transaction does for half an hour.
SOON = {
    "mysql": "UTC_TIMESTAMP(6) + INTERVAL 30 MINUTE",
    "sqlite": "STRFTIME('%Y-%m-%d %H:%M:%f', 'now', '+30 minutes')",
}
BESIDE = {"articles_article_tags": ("INSERT", "DELETE"), "articles_correction": ("INSERT", "UPDATE", "DELETE")}


def note(vendor, row, is_visible="1", key="id"):
    columns = "articles_pendingchange (article_id, is_visible, at)"
    return f"INSERT INTO {columns} VALUES ({row}.{key}, {is_visible}, {NOW[vendor]});"


def same(vendor, names, texts=()):
    if vendor == "sqlite":
        return " AND ".join(f"NEW.{name} IS OLD.{name}" for name in (*names, *texts))
    pairs = [f"BINARY NEW.{name} <=> BINARY OLD.{name}" for name in texts]  # last: they take the longest
    return " AND ".join([*(f"NEW.{name} <=> OLD.{name}" for name in names), *pairs])


def waits(vendor, row):
    return f"{row}.status IN (4, 8) AND ({row}.publish_at IS NULL OR {row}.publish_at > {SOON[vendor]})"


def trigger(vendor, name, event, table, condition, action):
    on = f"CREATE TRIGGER {name} AFTER {event} ON {table}"
    if vendor == "sqlite":
        return f"{on} WHEN {condition} BEGIN {action} END"
    return f"{on} FOR EACH ROW BEGIN IF {condition} THEN {action} END IF; END"


def triggers(vendor, texts=TEXTS):
    article = "articles_article"
    yield trigger(vendor, "feed_article_insert", "INSERT", article, f"NEW.status IN {VISIBLE}", note(vendor, "NEW"))
    is_stamp = f"OLD.status IN (4, 8) AND NEW.status = 9 AND {same(vendor, TIMES_OF_CHANGES)}"
    is_unseen = f"{waits(vendor, 'OLD')} AND {waits(vendor, 'NEW')}"
    is_relevant = f"(NEW.status IN {PASSED} OR OLD.status IN {PASSED})"
    if vendor == "sqlite":
        is_visible = f"NOT ({same(vendor, OTHERS, texts)})"
        is_change = f"({is_visible} OR NOT ({same(vendor, SHOWING)}))"
        changed = f"{is_relevant} AND NOT ({is_stamp}) AND NOT ({is_unseen}) AND {is_change}"
        action = note(vendor, "NEW", is_visible)
    else:  # MariaDB prepares all of a condition for each row, so there are several, and the most frequent come first
        changed = f"NOT ({is_stamp})"
        action = (
            f"IF {is_relevant} AND NOT ({is_unseen}) THEN"
            f" IF NOT ({same(vendor, OTHERS)}) THEN {note(vendor, 'NEW')}"
            f" ELSEIF NOT ({same(vendor, (), texts)}) THEN {note(vendor, 'NEW')}"
            f" ELSEIF NOT ({same(vendor, SHOWING)}) THEN {note(vendor, 'NEW', '0')} END IF; END IF;"
        )
    yield trigger(vendor, "feed_article_update", "UPDATE", article, changed, action)
    yield trigger(vendor, "feed_article_delete", "DELETE", article, "1", note(vendor, "OLD", "0"))
    for table, events in BESIDE.items():
        for event in events:
            row = "OLD" if event == "DELETE" else "NEW"
            name = f"feed_{table.removeprefix('articles_')}_{event.lower()}"
            yield trigger(vendor, name, event, table, "1", note(vendor, row, key="article_id"))


def put_up(apps, schema_editor):
    vendor = schema_editor.connection.vendor
    for statement in triggers(vendor):
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
    for statement in triggers(schema_editor.connection.vendor):
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
