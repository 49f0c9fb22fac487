"""The newsroom as a Django app."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class ArticlesConfig(AppConfig):
    """Articles, channels and everything editors and readers do with them."""

    name = "articles"
    verbose_name = _("Newsroom")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect signal receivers and event subscribers, and register lookups and system checks."""
        compare_exactly = import_module("articles.models.names").compare_exactly  # models are loaded only now
        compare_exactly()
        autodiscover_modules("signals", "subscribers", "review.checks", "cache.checks")
