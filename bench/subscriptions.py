"""Benchmark subprocess: stores subscriptions to pushes in place of those before, and an article with a breaking alert.

`python -m bench.subscriptions URL COUNT LEAD` prints when the article goes live: in so many seconds.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from datetime import UTC, datetime
from urllib.parse import urlsplit

import django

django.setup()

from django.contrib.auth import get_user_model  # noqa: E402 (models need a Django that is set up)

from articles.alerts import save_alert  # noqa: E402
from articles.models import Alert, Endpoint, Push, PushMessage, PushSubscription  # noqa: E402
from bench.browsers import browsers  # noqa: E402
from bench.load_articles import store  # noqa: E402


def main(url: str, count: int, lead: float) -> None:
    """Store them, then the article, which is due soon."""
    for model in (PushMessage, Push, PushSubscription, Alert, Endpoint):
        model.objects.all().delete()
    host = f"http://{urlsplit(url).netloc}"
    PushSubscription.objects.bulk_create(
        [
            PushSubscription(
                endpoint=endpoint, digest=hashlib.sha256(endpoint.encode()).hexdigest(), host=host,
                p256dh=p256dh, auth=auth, breaking=True,
            )
            for endpoint, p256dh, auth in browsers(url, count)
        ],
        batch_size=1000,
    )  # fmt: skip
    due = time.time() + lead
    chief, _ = get_user_model().objects.get_or_create(username="chief", defaults={"is_superuser": True})
    article = store([datetime.fromtimestamp(due, UTC)], chief, None, with_tasks=True)
    save_alert(article, {"text": "Harbour bridge closed after a collision", "push": True}, by=chief)
    print(json.dumps(due))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
