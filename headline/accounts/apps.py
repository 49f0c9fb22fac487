"""Accounts as a Django app: log-in limits, password reset, and the audit of people and groups."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    """Who may log in, how often a password may be tried, and what is recorded about it."""

    name = "headline.accounts"
    label = "accounts"
    verbose_name = _("Accounts")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect the receivers and the checks."""
        autodiscover_modules("receivers", "checks")
