"""`make mutants`: a proof that holds without the guards that it is to prove proves nothing."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection
from pathlib import Path

import pytest

from tests.chaos.checker import LATEST
from tests.chaos.faults import KINDS
from tests.chaos.mutants import MUTANTS, Mutant
from tests.chaos.proof import Load, Proof, prove, say
from tests.chaos.report import as_text
from tests.harness import Stand, base_dir

SECONDS, SEEDS = 25.0, (1, 2, 3)
LOAD = Load(editors=4, readers=3, pause=0.15, reading_pause=0.08)
FAULT_RATE = 1.0  # in a second
SETTLED = 45.0  # seconds in which everything must be done in the end, longer than a lease


def names(mutant: Mutant) -> str:
    return mutant.name


@pytest.mark.parametrize("mutant", MUTANTS, ids=names)
def test_the_text_of_each_mutant_is_in_the_source(mutant: Mutant) -> None:
    ast.parse(mutant.source())


STRICT = {(tuple(mutant.faults), mutant.latest) for mutant in MUTANTS if mutant.latest < LATEST}


@pytest.mark.mutants
@pytest.mark.django_db  # whose tables the stand copies
@pytest.mark.parametrize(("faults", "latest"), [(tuple(KINDS), LATEST), *STRICT])
def test_nothing_is_found_without_a_mutant(
    stand: Stand, tmp_path: Path, faults: Collection[str], latest: float
) -> None:
    proof = attempt(stand, tmp_path, faults, base_dir, SEEDS[0], latest=latest)
    assert not proof.verdict.violations, as_text(proof)


@pytest.mark.mutants
@pytest.mark.django_db
@pytest.mark.parametrize("mutant", MUTANTS, ids=names)
def test_each_mutant_is_found(stand: Stand, tmp_path: Path, mutant: Mutant) -> None:
    source = mutant.make(tmp_path / "source")
    for seed in SEEDS:
        verdict = attempt(stand, tmp_path, mutant.faults, source, seed, latest=mutant.latest).verdict
        if found := [violation for violation in verdict.violations if violation.kind in mutant.shown_by]:
            say(f"\n{mutant.name}: seed {seed}, {len(found)} violations, such as {found[0]}")
            return
    pytest.fail(f"survived: {mutant.name}")


def attempt(stand: Stand, directory: Path, faults: Collection[str], source: Path, seed: int, *, latest: float) -> Proof:
    """A proof with some kinds of faults; refresh is put off, which would find what the sweep misses."""
    hours = json.dumps({"SCHEDULING_REFRESH_INTERVAL": 3600, "SCHEDULING_PRELOAD_WINDOW": 7200})
    return prove(
        stand, directory, seed=seed, seconds=SECONDS, load=LOAD, kinds=faults, rate=FAULT_RATE, source=source,
        settings=hours, latest=latest, settled=SETTLED,
    )  # fmt: skip
