"""Child process: every figure about lateness, and every time of publication, that the product shows, as JSON."""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import datetime
from typing import Any

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models need a Django that is set up)
from django.test import Client  # noqa: E402

TYPES = ("articles.publish", "articles.release", "articles.update")
_METRIC = re.compile(r'^headline_worker_task_lateness_seconds_(count|sum)\{.*task_type="([^"]+)".*\} (\S+)$', re.M)
_SENTENCE = re.compile(r"(\d+) published in the last 24 hours: median delay .*, maximum ([\d.]+) (ms|s)\.")


def main() -> None:
    """`figures UPDATED`, the number of an article that had an update."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(User.objects.get(username="root"))
    article = body(client, f"/api/v1/articles/{sys.argv[1]}/")
    figures = {
        "readyz": body(client, "/readyz")["lateness_ms"],
        "dashboard": dashboard(client),
        "metrics": metrics(client),
        "articles": {one["id"]: epoch(one["published_at"]) for one in body(client, "/api/v1/articles/")["results"]},
        "releases": {
            one["id"]: epoch(one["published_at"]) for one in body(client, "/api/v1/desk/releases/")["results"]
        },
        "corrections": [epoch(one["published_at"]) for one in article["corrections"]],
        "updated": epoch(article["updated_at"]),
    }
    print(json.dumps(figures))  # noqa: T201


def body(client: Client, address: str) -> Any:
    return client.get(address).json()


def dashboard(client: Client) -> list[float]:
    """How many, and the longest delay in milliseconds."""
    found = _SENTENCE.search(client.get("/admin/").content.decode())
    assert found
    return [int(found[1]), float(found[2]) * (1000 if found[3] == "s" else 1)]


def metrics(client: Client) -> dict[str, float]:
    """Sums over all workers."""
    token = json.loads(os.environ["TEST_SETTINGS"])["METRICS_TOKEN"]
    text = client.get("/metrics", headers={"authorization": f"Bearer {token}"}).content.decode()
    sums = {f"{part} {task_type}": 0.0 for task_type in TYPES for part in ("count", "sum")}
    for part, task_type, value in _METRIC.findall(text):
        if task_type in TYPES:
            sums[f"{part} {task_type}"] += float(value)
    return sums


def epoch(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


if __name__ == "__main__":
    main()
