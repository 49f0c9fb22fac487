"""The test tasks as a Django app."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.db.models.signals import post_migrate

from articles.roles import create_roles


class ProbeConfig(AppConfig):
    """Makes the engine find `tests.probe.handlers`, and brings the roles back after a test has emptied all tables."""

    name = "tests.probe"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Emptying ends with the signal that migrating ends with."""
        post_migrate.connect(bring_back_roles, sender=self)
        if mutant := getattr(settings, "PROBE_MUTANT", ""):
            import_module("tests.probe.mutants").MUTANTS[mutant]()  # not before the models are there


def bring_back_roles(**kwargs: Any) -> None:
    """Migrations do not run again."""
    create_roles(apps)
