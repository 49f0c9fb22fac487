"""The proof, for `make chaos`, and in short."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.chaos.faults import KINDS
from tests.chaos.proof import Load, prove, say
from tests.chaos.report import as_text, write
from tests.chaos.scenarios import in_short
from tests.chaos.script import play
from tests.harness import Stand, base_dir

pytestmark = pytest.mark.django_db  # whose tables the stand copies


@pytest.mark.chaos
def test_every_article_is_accounted_for_whatever_fails(stand: Stand, tmp_path: Path) -> None:
    """R0.5 R0.6 R1.6 R1.16 R1.20 R2.5 R2.6 R3.4 R3.6 R4.6 R4.8"""
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(10**6))
    say(f"\nCHAOS_SEED={seed}")
    load = Load(articles=int(os.environ.get("CHAOS_ARTICLES") or 0))
    seconds, of = float(os.environ.get("CHAOS_SECONDS") or 300), os.environ.get("CHAOS_FAULTS") or ""
    kinds = [kind for kind in KINDS if of in kind]
    proof = prove(stand, tmp_path, seed=seed, seconds=seconds, load=load, kinds=kinds)
    write(proof, base_dir / "var" / "proof.md")
    say(as_text(proof))
    assert not proof.verdict.violations, f"{as_text(proof)}\n{proof.history}"


def test_every_article_mail_and_purge_is_accounted_for_in_short(stand: Stand, tmp_path: Path) -> None:
    """R0.5 R1.6 R2.5 R2.6: killed worker, emptied Redis, frozen MariaDB, changed plans."""
    leases = '{"SCHEDULING_LEASE": 5}'  # a mail of the killed worker need not wait for 30 s
    verdict = play(stand, tmp_path, [in_short], seed=1, settings=leases, refreshing=False)
    assert not verdict.violations, (tmp_path / "output-1.txt").read_text()
    accounted = {
        name: verdict.checked[name]
        for name in ("articles", "due", "mails", "purges", "sights", "webhooks", "articles received and followed")
    }
    assert all(accounted.values()), accounted
