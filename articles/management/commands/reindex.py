"""Make the search index true again after what went around it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from articles.search import reindex

EVERY = 50  # pages between two lines of progress


class Command(BaseCommand):
    """Reads every article once; may run, be broken off and be run again at any time."""

    help = "Compare the search index with every article, and set right what differs."

    def handle(self, *args: Any, **options: Any) -> None:
        """Say how far it is, and how much was wrong."""
        reconciled = 0
        for number, (last, wrong) in enumerate(reindex(), start=1):
            reconciled += wrong
            if number % EVERY == 0:
                self.stdout.write(f"… up to article {last}")
        self.stdout.write(f"indexed={reconciled}")
