"""The change feed's trigger has several short conditions, which makes publishing and rescheduling a twentieth faster."""

from django.db import migrations

from articles.migrations._triggers import with_triggers


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0031_forms_submitted_once'),
    ]

    operations = with_triggers()
