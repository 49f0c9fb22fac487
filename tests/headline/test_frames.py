"""No depth of calls makes a loop slow that calls functions."""

from __future__ import annotations

import resource

from headline.frames import with_room

DEPTHS, CALLS = 150, 300


def faults_at(depth: int) -> int:
    """Pages that fault while a loop at this depth calls a function."""
    if depth:
        return faults_at(depth - 1)
    before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
    for _ in range(CALLS):
        nothing()
    return resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before


def nothing() -> None:
    """A function to be called."""
    room = [0, 1, 2, 3, 4, 5, 6, 7]
    assert len(room) == 8


def test_a_loop_in_a_request_calls_functions_without_page_faults_at_any_depth() -> None:
    counts = with_room(lambda: [faults_at(depth) for depth in range(DEPTHS)])()
    assert {depth: count for depth, count in enumerate(counts) if count >= CALLS} == {}
