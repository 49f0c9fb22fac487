"""App configuration of the engine."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class SchedulingConfig(AppConfig):
    """Loads the system checks and the `handlers` modules of all installed apps."""

    name = "scheduling"
    verbose_name = _("Scheduling")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register checks and handlers."""
        import_module("scheduling.checks")  # needs the models
        autodiscover_modules("handlers")
