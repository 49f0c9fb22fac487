"""A column that code of the version before need not know."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add a column."""

    dependencies = [("probe", "0001_initial")]
    operations = [migrations.AddField("Effect", "note", models.CharField(max_length=10, db_default="", default=""))]
