"""Wagtail's pages: `wagtail_pages home`, `live COUNT`, `scheduled COUNT` or `publish`, which prints its seconds."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import django

django.setup()

from django.core.management import call_command  # noqa: E402 (models need a Django that is set up)
from django.db import transaction  # noqa: E402
from wagtail.models import Page, Revision, Site  # noqa: E402

from bench.peers.wagtail_site.models import ArticlePage, HomePage  # noqa: E402
from bench.texts import BODY  # noqa: E402


def main() -> None:
    """Read the arguments."""
    verb, *numbers = sys.argv[1:]
    if verb == "publish":
        print(json.dumps(publish()))
    else:
        verbs: dict[str, Callable[..., None]] = {"home": add_home, "live": add_live, "scheduled": add_scheduled}
        verbs[verb](*map(int, numbers))


def add_home() -> None:
    """A home page instead of Wagtail's own."""
    home = Page.get_first_root_node().add_child(instance=HomePage(title="News", slug="news"))
    Site.objects.update(root_page=home)


@transaction.atomic
def add_live(count: int) -> None:
    """Articles that readers see."""
    for number in range(count):
        _add(f"live-{number}").save_revision().publish()


@transaction.atomic
def add_scheduled(count: int) -> None:
    """Articles that go live in a second."""
    soon = datetime.now(UTC) + timedelta(seconds=1)
    for number in range(count):
        _add(f"scheduled-{time.time_ns()}-{number}", go_live_at=soon).save_revision(approved_go_live_at=soon)
    time.sleep(1)


def publish() -> float:
    """Run the command that publishes what is due; returns its seconds."""
    waiting = Revision.objects.filter(approved_go_live_at__isnull=False)
    assert waiting.exists()
    began = time.perf_counter()
    call_command("publish_scheduled")
    taken = time.perf_counter() - began
    assert not waiting.exists()
    return taken


def _add(slug: str, go_live_at: datetime | None = None) -> ArticlePage:
    page = ArticlePage(title=f"Headline {slug}", slug=slug, summary="In short.", body=BODY, go_live_at=go_live_at)
    page.live = go_live_at is None
    HomePage.objects.get().add_child(instance=page)
    return page


if __name__ == "__main__":
    main()
