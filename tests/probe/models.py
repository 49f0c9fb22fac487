"""Effects of the test tasks, append-only."""

from __future__ import annotations

from django.db import models


class Effect(models.Model):
    """One effect of one run of a task; a task with two of them ran twice."""

    task_id = models.BigIntegerField()
    task_type = models.CharField(max_length=64)
    at = models.DateTimeField(help_text="By the database's clock.")
    process = models.PositiveIntegerField(help_text="The worker's process id.")

    def __str__(self) -> str:
        return f"{self.task_type} {self.task_id} at {self.at:%H:%M:%S.%f}"
