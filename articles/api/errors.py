"""The body of an error, for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers


class ErrorSerializer(serializers.Serializer[Any]):
    """An error. Each invalid field is a key of its own, with a list of messages."""

    code = serializers.CharField(help_text=_("For programs: stays the same in every language."))
    detail = serializers.CharField(required=False, help_text=_("For users, unless the error concerns single fields."))
