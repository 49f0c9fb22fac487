"""App configuration of accounts: log-in limits, password reset, and auditing of users and groups."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    """Loads the signal receivers and system checks of accounts."""

    name = "headline.accounts"
    label = "accounts"
    verbose_name = _("Accounts")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Connect the receivers and the checks."""
        autodiscover_modules("receivers", "checks")
