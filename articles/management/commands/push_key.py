"""Print a new key for pushes."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from articles.push import new_key


class Command(BaseCommand):
    """Makes a key of VAPID, by which push services know this site. Browsers subscribe to it: keep it for good."""

    help = "Print a new PUSH_KEY, which turns pushes of breaking alerts on. Another key ends all subscriptions."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the line for the environment."""
        self.stdout.write(f"PUSH_KEY={new_key()}")
