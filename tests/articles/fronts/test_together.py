"""Two editors in processes of their own on one draft: no operation is lost, and no card is there twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from articles import fronts
from articles.models import Card
from tests.articles.factories import make_editor
from tests.conftest import database_environment
from tests.harness import base_dir

OPERATIONS = int(os.environ.get("OPERATIONS", "20"))
"""Of each."""


@pytest.mark.django_db(transaction=True)
def test_no_operation_of_two_editors_is_lost() -> None:
    alice, _bob = make_editor(), make_editor("bob")
    draft = fronts.start_draft(fronts.open_front(language="en", by=alice), by=alice)
    command = [sys.executable, "-m", "tests.articles.fronts.many_edits"]
    environment = {**database_environment(), "DJANGO_SETTINGS_MODULE": "headline.settings"}
    editors = [
        subprocess.Popen(  # noqa: S603 (our own program)
            [*command, name, str(draft.pk), str(OPERATIONS)],
            cwd=base_dir, env=environment, stdout=subprocess.PIPE, text=True,
        )
        for name in ("alice", "bob")
    ]  # fmt: skip
    expected: dict[str, str] = {}
    for editor in editors:
        output, _errors = editor.communicate()
        assert editor.returncode == 0
        expected |= json.loads(output.splitlines()[-1])
    cards = list(Card.objects.filter(block__version=draft).order_by("position", "pk"))
    assert [card.position for card in cards] == list(range(len(cards)))
    assert {str(card.uuid): card.headline for card in cards} == expected
    assert len(cards) == len(expected) > 5
    draft.refresh_from_db()
    assert OPERATIONS < draft.edits <= 2 * OPERATIONS, "a card that is moved to its own place is no edit"
