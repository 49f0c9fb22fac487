"""The comparison of what programs received, with small records made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.chaos.agreement import Agreement
from tests.chaos.history import Followed, Received, Record
from tests.chaos.timeline import FOREVER, Segment, Timeline
from tests.chaos.violations import EARLY, LOST, TWICE, UNEXPLAINED, ZOMBIE

LIVE, GONE = 20.0, 30.0
TIMELINES = {7: Timeline([Segment(0.0, GONE, GONE, [(LIVE, FOREVER, 1)]), Segment(GONE, FOREVER, FOREVER, [])])}


def received(seq: int, kind: str, at: float, state: str, text: int | None = None) -> Received:
    return Received(began=at, ended=at, message=f"evt_{seq}", kind=kind, object=7, state=state, text=text)


class Books:
    """An article that is published and unpublished, as all books say; the tests spoil one of them."""

    def __init__(self) -> None:
        self.received = [
            received(11, "article.published", LIVE, "live", 1),
            received(12, "article.unpublished", GONE, "unpublished"),
        ]
        self.followed = [
            Followed(began=LIVE, ended=LIVE, live=[(7, 1)]),
            Followed(began=GONE, ended=GONE, gone=[(7, "unpublished")]),
        ]
        self.events = [
            {"kind": "article.scheduled", "object_id": 7, "seq": 10},
            {"kind": "article.published", "object_id": 7, "seq": 11},
            {"kind": "article.unpublished", "object_id": 7, "seq": 12},
        ]
        self.entries: list[dict[str, Any]] = [
            {"action": action, "article_id": 7, "release_id": None} for action in ("published", "unpublish")
        ]

    def violations(self) -> set[str]:
        """Their kinds."""
        found: list[str] = []
        records: list[Record] = [Received(began=0.0, ended=0.0), *self.received, *self.followed]
        dump = {"events": self.events, "entries": self.entries, "articles": [{"id": 7, "text": 1}]}
        Agreement(
            records,
            dump,
            lambda kind, _subject, _text: found.append(kind),
            timelines=TIMELINES,
            is_calm=lambda _began, _ended: True,
        ).run()
        return set(found)


@pytest.fixture
def books() -> Books:
    return Books()


def test_books_that_agree_are_right_also_when_something_came_twice(books: Books) -> None:
    assert books.violations() == set()
    books.received.append(replace(books.received[0], state="unpublished", text=None, kind="article.unpublished"))
    assert books.violations() == set()


def test_what_was_not_received_is_lost(books: Books) -> None:
    del books.received[0]
    assert books.violations() == {LOST}


def test_what_was_refused_was_not_received(books: Books) -> None:
    books.received[0] = replace(books.received[0], status=503)
    assert books.violations() == {LOST}


def test_what_is_not_written_is_unexplained(books: Books) -> None:
    books.received.insert(0, received(10, "article.scheduled", 1.0, ""))
    assert UNEXPLAINED in books.violations()


def test_a_later_event_does_not_overtake(books: Books) -> None:
    books.received.reverse()
    assert UNEXPLAINED in books.violations()


def test_what_readers_do_not_see_yet_is_early(books: Books) -> None:
    books.received[0] = replace(books.received[0], began=LIVE - 1, ended=LIVE - 1)
    assert books.violations() == {EARLY}


def test_what_readers_no_longer_see_is_a_zombie(books: Books) -> None:
    books.received.append(replace(books.received[0], began=GONE + 9, ended=GONE + 9))
    assert books.violations() == {ZOMBIE}


def test_a_gap_an_event_without_number_and_one_that_is_missing_are_lost(books: Books) -> None:
    del books.events[1]
    assert LOST in books.violations()
    books.events.insert(1, {"kind": "article.published", "object_id": 7, "seq": None})
    assert LOST in books.violations()


def test_two_publications_are_one_too_many(books: Books) -> None:
    books.events.append({"kind": "article.published", "object_id": 7, "seq": 13})
    books.events.append({"kind": "article.published", "object_id": 7, "seq": 14})
    assert TWICE in books.violations()


@pytest.mark.parametrize("number", [0, 1])
def test_a_follower_that_missed_a_page_is_found(books: Books, number: int) -> None:
    books.followed[1 - number] = Followed(began=LIVE, ended=LIVE)
    assert books.violations() == ({LOST} if number == 0 else set())  # what came and went between two looks
