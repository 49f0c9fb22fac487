"""What the newsroom's commands have in common."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from articles.audit import Door, Person, door


class NewsroomCommand(BaseCommand):
    """A command whose changes the audit record shows as a command's."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run it behind its door."""
        with door(Door.COMMAND):
            return super().execute(*args, **options)

    def person(self, name: str) -> Person:
        """Who has this log-in. Raises `CommandError`."""
        person = get_user_model()._default_manager.filter(username=name, is_active=True).first()
        if person is None:
            raise CommandError(_("Nobody here is called “%(name)s”.") % {"name": name})
        return person
