"""What the newsroom's commands have in common."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from articles.audit import Actor, Source, source


class NewsroomCommand(BaseCommand):
    """A command whose changes the audit record shows as a command's."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run it behind its door."""
        with source(Source.COMMAND):
            return super().execute(*args, **options)

    def user(self, name: str) -> Actor:
        """Who has this log-in. Raises `CommandError`."""
        user = get_user_model()._default_manager.filter(username=name, is_active=True).first()
        if user is None:
            raise CommandError(_("Nobody here is called “%(name)s”.") % {"name": name})
        return user
