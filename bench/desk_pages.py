"""Benchmark subprocess: milliseconds of each page by its name, or with `plans`, the query plans."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Mapping
from functools import partial

import django

django.setup()

from django.conf import settings  # noqa: E402 (models need a Django that is set up)
from django.contrib.auth.models import User  # noqa: E402
from django.core.cache import cache  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from articles.models import Article  # noqa: E402
from bench.plans import plans_of  # noqa: E402
from bench.search_costs import costs  # noqa: E402

LIST, QUEUE, AUDIT = "/admin/articles/article/", "/admin/articles/queuedarticle/", "/admin/articles/auditentry/"
BOARD, PALETTE = "/admin/desk/monitoring/content/", "/admin/search/"
TASKS, RECORDS = "/admin/scheduling/taskinfo/", "/admin/scheduling/taskinfolog/"
STAGES = ("draft", "rejected", "review", "ready", "scheduled", "published", "newer", "unpublished")


def main() -> None:
    """Print JSON."""
    logging.disable(logging.WARNING)
    settings.ALLOWED_HOSTS.append("testserver")
    client = Client()
    client.force_login(User.objects.get(username="chief"))
    works = {name: partial(get, client, address) for name, address in addresses().items()}
    chosen = sys.argv[2:]
    works = {name: work for name, work in works.items() if not chosen or any(part in name for part in chosen)}
    print(json.dumps(plans(works) if sys.argv[1] == "plans" else measured(works, int(sys.argv[1]))))


def plans(works: Mapping[str, Callable[[], object]]) -> list[dict[str, object]]:
    """The query plans of all pages."""
    return [plan for name, work in works.items() for plan in plans_of(name, work)]


def measured(works: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, list[float]]:
    """The costs of all pages."""
    return {name: costs(work, repetitions) for name, work in works.items()}


def addresses() -> dict[str, str]:
    """The measured pages, by name."""
    return {"dashboard": "/admin/", **articles(), **board(), **others()}


def articles() -> dict[str, str]:
    """The article list with its filters, orders and search."""
    middle = Article.objects.filter(publish_at__lte=timezone.now()).order_by("pk")[10].publish_at
    assert middle is not None
    day = f"{middle:%Y-%m-%d}"
    author = User.objects.get(username="author1").pk
    channel = Article.objects.exclude(channel=None)[0].channel_id
    queries = {
        "": "",
        "page 9": "p=9",
        **{stage: f"stage={stage}" for stage in STAGES},
        "at risk": "concern=at_risk",
        "overdue": "concern=overdue",
        "mine": "whose=mine",
        "a channel": f"channel={channel}",
        "an author": f"author={author}",
        "a channel's published": f"channel={channel}&stage=published",
        "an author's drafts": f"author={author}&stage=draft",
        "10 days": f"days_from={day}&days_to={middle.replace(year=middle.year + 1):%Y-%m-%d}",
        "by headline": "o=1",
        "by status": "o=2",
        "by time": "o=-3",
        "by channel": "o=4",
        "by author": "o=5",
        "search: 1 in 1000": "q=seldom",
        "search: 1 in 10": "q=often",
        "search: none": "q=nowhere",
        "search: two words": "q=often+seldom",
        "search: number": "q=77",
        "search: published": "q=seldom&stage=published",
    }
    return {f"articles {name}".strip(): f"{LIST}?{query}" for name, query in queries.items()}


def board() -> dict[str, str]:
    """The board with its filters, and the command palette."""
    channel = Article.objects.exclude(channel=None)[0].channel_id
    author = User.objects.get(username="author1").pk
    queries = {
        "board": "",
        "board of a channel": f"channel={channel}",
        "board of an author": f"author={author}",
        "board, mine": "author=me",
        "board search: 1 in 1000": "q=seldom",
        "board search: 1 in 10": "q=often",
        "board search: none": "q=nowhere",
    }
    searches = {f"palette: {text}": f"{PALETTE}?s={text}" for text in ("seldom", "often", "nowhere")}
    return {name: f"{BOARD}?{query}" for name, query in queries.items()} | searches


def others() -> dict[str, str]:
    """The other lists."""
    today = timezone.now().date().isoformat()
    return {
        "review queue": QUEUE,
        "review queue by headline": f"{QUEUE}?o=1",
        "review queue search": f"{QUEUE}?q=seldom",
        "audit log": AUDIT,
        "audit log page 9": f"{AUDIT}?p=9",
        "audit log of an article": f"{AUDIT}?article_id__exact=50",
        "audit log of a user": f"{AUDIT}?user_id__exact=2",
        "audit log of an action": f"{AUDIT}?action=edit",
        "audit log of a rare action": f"{AUDIT}?action=retract",
        "audit log of a source": f"{AUDIT}?source__exact=api",
        "audit log of today": f"{AUDIT}?at__gte={today}+00%3A00%3A00%2B00%3A00",
        "audit log by time": f"{AUDIT}?o=0",
        "audit log by user": f"{AUDIT}?o=4",
        "audit log search": f"{AUDIT}?q=News+77",
        "pending tasks": TASKS,
        "task records": RECORDS,
        "failed task records": f"{RECORDS}?status__exact=3",
        "task records search": f"{RECORDS}?q=77",
        "notifications": "/admin/articles/notification/",
        "unread notifications": "/admin/articles/notification/?read_at__isempty=1",
        "images": "/admin/articles/image/",
        "releases": "/admin/articles/release/",
        "list of programs": "/api/v1/desk/articles/",
        "list of programs: published": "/api/v1/desk/articles/?status=9",
        "reviews of programs": "/api/v1/desk/articles/?status=3",
    }


def get(client: Client, address: str) -> None:
    """Ask for an address, which must be there."""
    cache.clear()
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.status_code)


if __name__ == "__main__":
    main()
