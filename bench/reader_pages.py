"""Benchmark subprocess: stores a newsroom, or measures pages without the cache; prints JSON.

`reader_pages load ARTICLES`, `reader_pages compose VERSIONS` or `reader_pages cold REPETITIONS`.
"""

from __future__ import annotations

import gc
import io
import json
import os
import sys
import time
from datetime import timedelta

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "headline.settings")
django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.core.cache import caches  # noqa: E402
from django.core.files.uploadedfile import SimpleUploadedFile  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import Client  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402
from django.utils import timezone  # noqa: E402
from PIL import Image  # noqa: E402

from articles import fronts, images  # noqa: E402
from articles.models import Article, Channel, FrontVersion  # noqa: E402

CHANNELS = 4
COMING = 10
BODY = "<p>" + "The harbour bridge is open to traffic again after a night of repairs. " * 8 + "</p>"


def main(verb: str, number: int) -> None:
    """Do it and print the result."""
    print(json.dumps({"load": load, "compose": compose, "cold": cold}[verb](number)))


def load(size: int) -> dict[str, str]:
    """Store published articles with covers; returns the addresses of the readers' pages."""
    editor = User.objects.create_superuser("bench", first_name="Ada", last_name="Lin")
    channels = [Channel.objects.create(name=f"Channel {number}") for number in range(CHANNELS)]
    for number in range(size):
        Article.objects.create(
            title=f"No. {number}: a headline of the usual length, about the harbour",
            summary="Traffic flows again since this morning, a day earlier than planned.",
            body=BODY * 6,
            author=editor,
            channel=channels[number % CHANNELS],
            cover=[str(image(number, editor))],
            status=Article.Status.PUBLISHED,
            publish_at=timezone.now() - timedelta(minutes=number + 1),
        )
    return addresses()


def image(number: int, by: User) -> object:
    """The id of an image of the library with a colour of its own."""
    file = io.BytesIO()
    Image.new("RGB", (2000, 1500), number * 99_991 & 0xFFFFFF).save(file, "JPEG")
    uploaded = SimpleUploadedFile(f"{number}.jpg", file.getvalue())
    return images.upload(uploaded, by=by, alt="Ships in the harbour").image.pk


def compose(versions: int) -> dict[str, str]:
    """Give the English front so many versions, and store articles to come; returns an editor's session."""
    editor, now = User.objects.get(username="bench"), timezone.now()
    front = fronts.open_front(language="en", by=editor)
    version = fronts.start_draft(front, by=editor)
    for number in range(versions, 0, -1):
        live = {"status": FrontVersion.Status.SCHEDULED, "live_from": now - timedelta(hours=number)}
        FrontVersion.objects.filter(pk=version.pk).update(**live)
        version.refresh_from_db()
        version = fronts.start_draft(front, like=version, by=editor)
    for number in range(COMING):
        coming = now + timedelta(minutes=5 * number + 5)
        Article.objects.create(title=f"Coming {number}", status=Article.Status.APPROVED, publish_at=coming)
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(editor)
    return {"session": client.cookies["sessionid"].value}


def addresses() -> dict[str, str]:
    """The readers' pages by name."""
    article = Article.objects.select_related("channel").latest("pk")
    assert article.channel is not None
    return {
        "front page": "/",
        "channel": article.channel.get_absolute_url(),
        "article": article.get_absolute_url(),
        "list API": "/api/v1/articles/",
        "feed": "/feed/",
    }


def cold(repetitions: int) -> dict[str, dict[str, object]]:
    """For each page without the cache: the bytes, the SQL statements, and the milliseconds of each repetition."""
    client = Client(headers={"host": "127.0.0.1"})
    gc.freeze()  # as headline.wsgi does
    return {
        name: {
            "bytes": len(client.get(address).content),
            "statements": statements(client, address),
            "milliseconds": [cost(client, address) for _ in range(repetitions)],
        }
        for name, address in addresses().items()
    }


def statements(client: Client, address: str) -> int:
    """SQL statements for the page."""
    caches["responses"].clear()
    with CaptureQueriesContext(connection) as queries:
        client.get(address)
    return len(queries)


def cost(client: Client, address: str) -> float:
    """Milliseconds to build the page, without a network."""
    caches["responses"].clear()
    began = time.perf_counter()
    response = client.get(address)
    taken = (time.perf_counter() - began) * 1000
    if response.status_code != 200:
        raise SystemExit(f"{address} answered {response.status_code}")
    return taken


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
