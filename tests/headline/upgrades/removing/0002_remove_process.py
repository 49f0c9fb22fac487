"""A migration that takes away what code of the version before writes."""

from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    """Remove a column."""

    dependencies = [("probe", "0001_initial")]
    operations = [migrations.RemoveField("Effect", "process")]
