"""Each migration can be run again after a failure at any of its statements, in an empty and in a filled database."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from tests.upgrades.databases import describe, differences, other_database
from tests.upgrades.interruptions import migrate_with_interruptions
from tests.upgrades.points import make
from tests.upgrades.test_history import check_upgraded

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.upgrades]


def test_a_new_installation_is_complete_after_an_interruption_at_each_statement(tmp_path: Path) -> None:
    wanted = describe()
    with other_database(tmp_path):
        assert migrate_with_interruptions()
        call_command("migrate", verbosity=0)  # which also creates permissions
        assert differences(describe(), wanted, was_interrupted=True) == {}


@pytest.mark.parametrize("commit", ["28192eda", "818c6ff5"])
def test_an_upgrade_is_complete_after_an_interruption_at_each_statement(commit: str, tmp_path: Path) -> None:
    wanted = describe()
    with other_database(tmp_path) as url:
        seen = make(commit, url, tmp_path)
        assert migrate_with_interruptions()
        call_command("migrate", verbosity=0)
        check_upgraded(wanted, seen, was_interrupted=True)
