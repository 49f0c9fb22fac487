"""Users whom several tests of the project need."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User


@pytest.fixture
def root(db: None) -> User:
    """An administrator."""
    return User.objects.create_superuser("root")
