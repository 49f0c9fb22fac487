"""The formal model of the engine, checked by Spin: all its histories, and without each of its guards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MODEL = Path(__file__).with_name("engine.pml")
SAFETY, LIVENESS = "safety", "liveness"
COMPILED = {SAFETY: ["-DSAFETY", "-DNOCLAIM"], LIVENESS: ["-DNFAIR=3"]}
RUN = {SAFETY: ["-m2000000", "-w26"], LIVENESS: ["-a", "-f", "-m4000000", "-w26"]}  # -f: weak fairness

REMOVED = [
    ("NO_TIME_CHECK", SAFETY, "due[task]<=now"),
    ("NO_ROW_CHECK", SAFETY, "executed[task]"),
    ("NO_ROW_LOCK", SAFETY, "executed[task]"),
    ("NO_DELETE", SAFETY, "executed[task]"),
    ("NO_WAITING_EDITOR", SAFETY, "seen[task]==version[task]"),
    ("NO_SWEEP", LIVENESS, "acceptance cycle"),
    ("NO_FALLBACK", LIVENESS, "acceptance cycle"),
]
"""Each guard, and what is violated without it."""

pytestmark = pytest.mark.model


def check(directory: Path, kind: str, *defines: str) -> str:
    """What Spin's verifier says of the model."""
    _run(directory, "spin", "-a", *defines, str(MODEL))
    _run(directory, "gcc", "-w", "-O2", "-DCOLLAPSE", "-DMEMLIM=4000", *COMPILED[kind], "-o", "pan", "pan.c")
    return _run(directory, "./pan", *RUN[kind])


def _run(directory: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def say(name: str, found: str) -> None:
    sys.stdout.write(f"\n{name}: {found.strip()}\n")


@pytest.mark.parametrize("kind", [SAFETY, LIVENESS])
def test_no_history_violates_a_property(tmp_path: Path, kind: str) -> None:
    said = check(tmp_path, kind)
    assert "errors: 0" in said and "not completed" not in said and "max search depth too small" not in said, said
    say(kind, next(line for line in said.splitlines() if "states, stored" in line))


@pytest.mark.parametrize(("removed", "kind", "violated"), REMOVED)
def test_without_each_of_them_a_property_is_violated(tmp_path: Path, removed: str, kind: str, violated: str) -> None:
    said = check(tmp_path, kind, f"-D{removed}")
    assert "errors: 1" in said
    found = next(line for line in said.splitlines() if line.startswith("pan:1:"))
    assert violated in found
    say(removed, found)
