"""A channel is not deleted while a newer text names it; the database does not see the difference."""

import articles.models.revision
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('articles', '0003_audit_guard'),
    ]

    operations = [
        migrations.AlterField(
            model_name='revision',
            name='channel',
            field=models.ForeignKey(null=True, on_delete=articles.models.revision.unless_pending, related_name='+', to='articles.channel', verbose_name='channel'),
        ),
    ]
