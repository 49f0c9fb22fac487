"""A program that follows the change feed, as a search service would, and records what it gets."""

from __future__ import annotations

import json
import threading
import time
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import MySQLdb

from tests.chaos.faults import Scene, connect
from tests.chaos.history import Followed, now
from tests.chaos.marks import MARK
from tests.chaos.newsroom import Newsroom, fetch, iso

_PAUSE = 0.3  # seconds between two pages
_TRIES = 20
_WAITING = (
    "SELECT (SELECT COUNT(*) FROM articles_event WHERE seq IS NULL)"
    " + (SELECT COUNT(*) FROM articles_pendingchange)"
    " + (SELECT COUNT(*) FROM articles_delivery WHERE state = 'pending')"
    " + (SELECT COUNT(*) FROM articles_endpoint e JOIN articles_feedhead h WHERE e.position <> h.sequence)"
)
_AS_IF_TIME_HAD_PASSED = (
    "UPDATE articles_delivery SET due_at = UTC_TIMESTAMP(6) WHERE state = 'pending' AND due_at > UTC_TIMESTAMP(6)",
    "UPDATE articles_endpoint SET leased_until = leased_until - INTERVAL 30 SECOND WHERE leased_until IS NOT NULL",
)
"""The pauses between attempts, and the lease of a sender that has died."""


class Follower:
    """Keeps the checkpoint of the last page, and asks for what came later."""

    def __init__(self, newsroom: Newsroom) -> None:
        self._newsroom = newsroom
        self._checkpoint = iso(now() - 1.0)

    def follow(self, stopping: threading.Event) -> None:
        """Follow until the event is set."""
        while not stopping.wait(_PAUSE):
            self._look()

    def catch_up(self) -> None:
        """Follow to the end, though a page or two may be refused."""
        for _ in range(_TRIES):
            page = self._look()
            if page is not None and not page["next"]:
                return
            time.sleep(0.0 if page else _PAUSE)

    def _look(self) -> dict[str, Any] | None:
        began = now()
        address = f"/api/v1/articles/?page_size=50&updated_since={quote(self._checkpoint)}"
        response = fetch(self._newsroom.port, "GET", address)
        if response is None or response[0] != 200:
            return None
        page: dict[str, Any] = json.loads(response[1])
        live = [(one["id"], _text(one["title"])) for one in page["results"]]
        gone = [(one["id"], one["kind"]) for one in page["removed"]]
        self._newsroom.history.add(Followed(began=began, ended=now(), live=live, gone=gone))
        self._checkpoint = page["checkpoint"]
        return page


def _text(title: str) -> int | None:
    mark = MARK.search(title)
    return int(mark[2]) if mark else None


def settle_webhooks(scene: Scene, seconds: float) -> None:
    """Wait until all events are numbered and delivered, once; the pauses after failures are cut short."""
    deadline = time.monotonic() + seconds
    with suppress(MySQLdb.Error):
        connection = connect(scene.stand)
        with connection.cursor() as cursor:
            for sql in _AS_IF_TIME_HAD_PASSED:
                cursor.execute(sql)
        connection.close()
    while time.monotonic() < deadline and scene.rows(_WAITING) != [(0,)]:
        time.sleep(0.2)
