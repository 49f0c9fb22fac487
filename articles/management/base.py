"""The base class of management commands that change articles."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils.translation import gettext as _

from articles.audit import Actor, Source, source


class NewsroomCommand(BaseCommand):
    """A command whose audit entries have the source “command”."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run it with its source."""
        with source(Source.COMMAND):
            return super().execute(*args, **options)

    def user(self, name: str) -> Actor:
        """The user with this username. Raises `CommandError`."""
        user = get_user_model()._default_manager.filter(username=name, is_active=True).first()
        if user is None:
            raise CommandError(_("There is no user “%(name)s”.") % {"name": name})
        return user
