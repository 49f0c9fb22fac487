"""The change feed's trigger writes nothing for articles that wait and are scheduled or rescheduled."""

from django.db import migrations

from articles.migrations._triggers import with_triggers


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0032_shorter_trigger'),
    ]

    operations = with_triggers()
