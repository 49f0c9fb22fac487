"""What all REST APIs of the project share, as a Django app: it has a table of its own."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ApiConfig(AppConfig):
    """Error shapes, pages, tokens, the schema, and the memory of idempotent requests."""

    name = "headline.api"
    label = "headline_api"
    verbose_name = _("API")
    default_auto_field = "django.db.models.BigAutoField"
