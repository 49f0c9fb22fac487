"""App configuration of what all REST APIs of the project share."""

from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ApiConfig(AppConfig):
    """Error responses, pagination, tokens, the schema, and idempotent requests."""

    name = "headline.api"
    label = "headline_api"
    verbose_name = _("API")
    default_auto_field = "django.db.models.BigAutoField"
