"""`make mutants`: a proof that holds without the guards that it is to prove proves nothing."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from pytest import ExitCode

from tests.chaos.checker import Verdict
from tests.chaos.faults import KINDS
from tests.chaos.mutants import MUTANTS, SHOWN, STAMPED_BEFORE, Mutant
from tests.chaos.proof import Load, Proof, prove, say
from tests.chaos.report import as_text
from tests.chaos.script import play
from tests.harness import Stand, base_dir, python

SECONDS, SEEDS = 25.0, (1, 2, 3, 4, 5)
LOAD = Load(editors=4, readers=3, pause=0.15, reading_pause=0.08)
FAULT_RATE = 1.0  # in a second
SETTLED = 45.0  # seconds in which everything must be done in the end, longer than a lease
SOON = 4.5  # seconds in which everything must be done in a scenario, less than rows are held
SETTINGS = json.dumps({"SCHEDULING_REFRESH_INTERVAL": 3600, "SCHEDULING_PRELOAD_WINDOW": 7200})
"""Refresh is put off, which would find what the sweep misses."""


def names(mutant: Mutant) -> str:
    return mutant.name


@pytest.mark.parametrize("mutant", [*MUTANTS, *SHOWN, STAMPED_BEFORE], ids=names)
def test_the_text_of_each_mutant_is_in_the_source(mutant: Mutant) -> None:
    ast.parse(mutant.source())


@pytest.mark.mutants
@pytest.mark.django_db  # whose tables the stand copies
def test_nothing_is_found_without_a_mutant(stand: Stand, tmp_path: Path) -> None:
    proof = attempt(stand, tmp_path, tuple(KINDS), base_dir, SEEDS[0])
    assert not proof.verdict.violations, as_text(proof)


@pytest.mark.mutants
@pytest.mark.django_db
@pytest.mark.parametrize("has_cdn", [True, False])
def test_nothing_is_found_in_any_scenario_without_a_mutant(stand: Stand, tmp_path: Path, has_cdn: bool) -> None:  # noqa: FBT001
    scenarios = dict.fromkeys(one.scenario for one in MUTANTS if one.scenario and one.has_cdn == has_cdn)
    verdict = play(stand, tmp_path, list(scenarios), settings=SETTINGS, latest=SOON, has_cdn=has_cdn)
    assert not verdict.violations


@pytest.mark.mutants
@pytest.mark.django_db
@pytest.mark.parametrize("mutant", MUTANTS, ids=names)
def test_each_mutant_is_found(stand: Stand, tmp_path: Path, mutant: Mutant) -> None:
    source = mutant.make(tmp_path / "source")
    for verdict in verdicts(stand, tmp_path, mutant, source):
        if found := [violation for violation in verdict.violations if violation.kind in mutant.shown_by]:
            say(f"\n{mutant.name}: {len(found)} violations, such as {found[0]}")
            return
    pytest.fail(f"survived: {mutant.name}")


@pytest.mark.mutants
@pytest.mark.parametrize("mutant", SHOWN, ids=names)
def test_each_mutant_of_what_users_see_is_found(tmp_path: Path, mutant: Mutant) -> None:
    source = mutant.make(tmp_path / "source")
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--exitfirst", *mutant.tests]
    environment = {"PATH": os.environ["PATH"], "TEST_DATABASE": mutant.database}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.TESTS_FAILED, f"survived: {mutant.name}\n{done.stdout}{done.stderr}"
    say(f"\n{mutant.name}: {done.stdout.splitlines()[-2]}")


def verdicts(stand: Stand, directory: Path, mutant: Mutant, source: Path) -> Iterator[Verdict]:
    if mutant.scenario:
        yield play(
            stand, directory, [mutant.scenario], source=source, settings=SETTINGS, latest=SOON, has_cdn=mutant.has_cdn
        )
        return
    for seed in SEEDS:
        yield attempt(stand, directory, mutant.faults, source, seed).verdict


def attempt(stand: Stand, directory: Path, faults: Collection[str], source: Path, seed: int) -> Proof:
    """A proof with some kinds of faults."""
    return prove(
        stand, directory, seed=seed, seconds=SECONDS, load=LOAD, kinds=faults, rate=FAULT_RATE, source=source,
        settings=SETTINGS, settled=SETTLED,
    )  # fmt: skip
