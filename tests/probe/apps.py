"""App configuration of the test tasks."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig, apps
from django.db.models.signals import post_migrate

from articles.roles import create_roles


class ProbeConfig(AppConfig):
    """Loads `tests.probe.handlers`, and recreates the roles after a test has emptied all tables."""

    name = "tests.probe"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect to `post_migrate`, which flushing sends, too."""
        post_migrate.connect(recreate_roles, sender=self)


def recreate_roles(**kwargs: Any) -> None:
    """Recreate the roles, because migrations do not run again."""
    create_roles(apps)
