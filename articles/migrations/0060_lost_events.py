"""How many events webhooks have missed, and when."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("articles", "0051_fronts_in_releases")]

    operations = [
        migrations.AddField("feedhead", "lost", models.PositiveIntegerField(default=0)),
        migrations.AddField("feedhead", "lost_at", models.DateTimeField(null=True)),
    ]
