"""System checks of single sign-on."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, register
from django.utils.translation import gettext as _


@register
def check_saml(app_configs: object, **options: Any) -> list[CheckMessage]:
    """Metadata and certificates of the identity provider are readable, and its keys are strong."""
    if not settings.SAML:
        return []
    faults = import_module("headline.accounts.saml_messages").faults()
    hint = _("Get the metadata or the certificate from the identity provider again.")
    return [checks.Error(fault, hint=hint, id="headline.E001") for fault in faults]
