"""Simulated readers, who look at pages, feeds and the API and record what they see."""

from __future__ import annotations

import random
import threading
from bisect import bisect
from collections.abc import Sequence

from tests.chaos.history import Sight, now
from tests.chaos.marks import MARK
from tests.chaos.newsroom import Newsroom, Story, fetch, iso

LISTS = (
    "/", "/latest/", "/channel/politics/", "/feed/", "/feed/atom/", "/channel/politics/feed/", "/api/v1/articles/",
    "/api/v1/articles/?channel=politics&page_size=50", "/search/?channel=politics",
)  # fmt: skip
_NEWEST = 12  # stories whose own pages are looked at


class Reader:
    """Looks at one page after the other until told to stop."""

    def __init__(self, newsroom: Newsroom, seed: int, *, pause: float) -> None:
        self.newsroom = newsroom
        self.random = random.Random(seed)
        self._pause = pause

    def read(self, stopping: threading.Event) -> None:
        """Read until the event is set."""
        while not stopping.wait(self.random.uniform(0, 2 * self._pause)):
            if self.random.random() < 0.4:
                self.look(self.random.choice(LISTS))
            elif stories := [*self.newsroom.stories[-_NEWEST:], *self._of_this_time()]:
                self.look_at(self.random.choice(stories))

    def _of_this_time(self) -> Sequence[Story]:
        """Stored articles that became due just now, or will soon."""
        stock = self.newsroom.stock
        middle = bisect(stock, iso(now()), key=lambda story: story.publish_at or "")
        return stock[max(0, middle - _NEWEST) : middle + _NEWEST]

    def look_at(self, story: Story) -> None:
        """Look at a story's own page."""
        page = f"/article/{story.article}/{story.slug or '-'}/"
        self.look(self.random.choice((page, f"/api/v1/articles/{story.article}/")), story)

    def look(self, address: str, story: Story | None = None) -> None:
        """Look at a page."""
        began = now()
        response = fetch(self.newsroom.port, "GET", address)
        if response is None:
            return
        status, content = response
        if status in (301, 302, 429):
            return
        seen: Sequence[tuple[int, int]] = sorted({(int(one), int(text)) for one, text in MARK.findall(content)})
        number = story.number if story else None
        sight = Sight(began=began, ended=now(), address=address, status=status, story=number, texts=seen)
        self.newsroom.history.add(sight)
