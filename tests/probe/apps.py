"""The test tasks as a Django app."""

from __future__ import annotations

from django.apps import AppConfig


class ProbeConfig(AppConfig):
    """Makes the engine find `tests.probe.handlers`."""

    name = "tests.probe"
    default_auto_field = "django.db.models.BigAutoField"
