"""`make chaos`: editors and workers change the same few articles for a minute."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.chaos.proof import empty
from tests.harness import Stand

pytestmark = [pytest.mark.chaos, pytest.mark.django_db]  # whose tables the stand copies

NAMES = ["bob", "carol", "dave", "erin"]
SECONDS = 60


def test_no_deadlock_reaches_any_of_four_editors_beside_two_workers(stand: Stand) -> None:
    """No deadlock error reaches an editor."""
    empty(stand)
    stand.run("tests.chaos.editors", json.dumps({"articles": 30, "editors": NAMES}))
    workers = stand.start("manage.py", "poll", "--forever", "--processes", "2")
    parts = [stand.start("-m", "tests.chaos.editors", json.dumps({"name": name, "seconds": SECONDS})) for name in NAMES]
    counts: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    for part in parts:
        assert part.wait(SECONDS * 3) == 0, part.output
        said: dict[str, Any] = json.loads(part.lines[-1])
        errors.update(said.pop("errors"))
        counts.update(said)
    assert workers.stop() == 0
    print(dict(counts), dict(errors))  # noqa: T201 (the figures of the run, with -s)
    assert not errors
    assert "Deadlock" not in workers.output
    assert counts["done"] > 100
