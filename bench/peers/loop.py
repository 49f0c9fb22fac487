"""The loop of a tutorial: select what is due, save each, sleep; here for 10 ms, in tutorials for a minute."""

from __future__ import annotations

import time

import django

django.setup()

from django.utils import timezone  # noqa: E402 (models need a Django that is set up)

from bench.peers.plain.models import Post  # noqa: E402

APPROVED, PUBLISHED = 8, 9


def publish_due() -> None:
    """Publish everything that is due."""
    due = Post._default_manager.filter(status=APPROVED, publish_at__lte=timezone.now())
    for post in due.order_by("publish_at"):
        post.status, post.published_at = PUBLISHED, timezone.now()
        post.save()


if __name__ == "__main__":
    print("ready", flush=True)
    while True:
        publish_due()
        time.sleep(0.01)
