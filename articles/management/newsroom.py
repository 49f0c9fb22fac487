"""What the newsroom's commands have in common."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from articles.services.recording import Door, door


class NewsroomCommand(BaseCommand):
    """A command whose changes the audit record shows as a command's."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run it behind its door."""
        with door(Door.COMMAND):
            return super().execute(*args, **options)
