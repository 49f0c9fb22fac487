"""The plans of faults."""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest

from tests.chaos.bounds import BOUNDS
from tests.chaos.faults import KINDS
from tests.chaos.plan import LONGEST, SHORTEST, draw


def test_a_seed_draws_the_same_plan_again() -> None:
    assert draw(7, 600) == draw(7, 600) != draw(8, 600)


@pytest.mark.parametrize("seed", range(5))
def test_faults_overlap_but_not_those_of_one_thing(seed: int) -> None:
    plan = draw(seed, 1800)
    assert any(first.at + first.duration > second.at for first, second in pairwise(plan))
    by_thing = sorted(plan, key=lambda one: (KINDS[one.kind].of, one.at))
    for _thing, found in groupby(by_thing, key=lambda one: KINDS[one.kind].of):
        assert all(first.at + first.duration <= second.at for first, second in pairwise(found))


def test_each_kind_of_fault_has_a_bound_of_lateness() -> None:
    assert BOUNDS.keys() == KINDS.keys()


def test_a_long_plan_has_every_fault_from_the_shortest_to_the_longest() -> None:
    plan = draw(1, 3600)
    assert {one.kind for one in plan} == set(KINDS)
    lasting = [one.duration for one in plan if KINDS[one.kind].lasts]
    assert min(lasting) < 2 * SHORTEST
    assert max(lasting) > LONGEST / 2
    assert max(one.at + one.duration for one in plan) <= 3600 + SHORTEST
