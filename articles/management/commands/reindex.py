"""Rebuild the search index, for example after changes that bypassed it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from articles.search import reindex

EVERY = 50  # pages between two lines of progress


class Command(BaseCommand):
    """Reads every article once; can be interrupted and run again at any time."""

    help = "Rebuild outdated entries of the search index. Safe to interrupt and to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the progress and the number of rebuilt entries."""
        reconciled = 0
        for number, (last, wrong) in enumerate(reindex(), start=1):
            reconciled += wrong
            if number % EVERY == 0:
                self.stdout.write(f"… up to article {last}")
        self.stdout.write(f"indexed={reconciled}")
