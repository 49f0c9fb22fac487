"""Migrations match the models."""

from __future__ import annotations

import pytest
from django.core.management import call_command

pytestmark = pytest.mark.django_db


def test_no_migration_is_missing() -> None:
    call_command(
        "makemigrations", "accounts", "articles", "headline_api", "scheduling", check_changes=True, dry_run=True
    )
