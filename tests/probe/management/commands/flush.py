"""The quick `flush` that Django calls after each test that commits."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.core.management.commands import flush

from tests.harness.emptying import empty_quickly


class Command(flush.Command):
    """Empties the filled tables only."""

    def handle(self, **options: Any) -> None:
        """Django's own flush where that is not enough."""
        empty_quickly(partial(super().handle, **options))
