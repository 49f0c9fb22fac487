"""A migration that fails, or is interrupted, after its first statement."""

from __future__ import annotations

import os
from typing import Any

from django.db import migrations, models


def fail(apps: Any, schema_editor: Any) -> None:
    """Raise an error, or send the signal that the environment names to this process."""
    if number := os.environ.get("TEST_SIGNAL"):
        os.kill(os.getpid(), int(number))
    raise ValueError("row 7 has no name")


class Migration(migrations.Migration):
    """Add a column, and fail."""

    dependencies = [("probe", "0001_initial")]
    operations = [
        migrations.AddField("Effect", "name", models.CharField(max_length=10, null=True)),
        migrations.RunPython(fail),
    ]
