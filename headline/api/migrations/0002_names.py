
from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('headline_api', '0001_initial'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='idempotentrequest',
            options={'verbose_name': 'remembered request', 'verbose_name_plural': 'remembered requests'},
        ),
    ]
