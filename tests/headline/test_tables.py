"""Columns, collations and triggers that another server or a dump has left are found and repaired."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import connection
from django.utils import timezone

from articles.models import Notification
from headline.doctor.examine import examine
from headline.doctor.findings import Area, Level
from headline.tables import find_differences, repair
from scheduling.database import read_database_clock
from scheduling.models import WorkerHeartbeat
from tests.articles.factories import make_editor
from tests.upgrades.databases import describe, differences
from tests.upgrades.interruptions import run_with_interruptions

pytestmark = pytest.mark.django_db(transaction=True)

COMMAND = "manage.py upgrade --repair"
OTHER = "utf8mb4_spanish_ci"
KEY = "articles_note_thread_id_dfad53cf_fk_articles_note_id"
LOSSES = {
    "mysql": (
        "ALTER TABLE articles_notification MODIFY id char(36) NOT NULL",
        "UPDATE articles_notification SET id = REPLACE(id, '-', '')",
        "ALTER TABLE articles_notification MODIFY id char(32) NOT NULL",
        "ALTER TABLE articles_wordlistversion MODIFY stamp char(32) NOT NULL, MODIFY applied char(32)",
        f"ALTER TABLE articles_channel MODIFY name varchar(80) CHARACTER SET utf8mb4 COLLATE {OTHER} NOT NULL",
        f"ALTER TABLE articles_tag CONVERT TO CHARACTER SET utf8mb4 COLLATE {OTHER}",
        f"ALTER TABLE articles_note DROP FOREIGN KEY {KEY}",
        "ALTER TABLE articles_note MODIFY id char(32) NOT NULL, MODIFY thread_id char(32)",
        f"ALTER TABLE articles_note ADD CONSTRAINT {KEY} FOREIGN KEY (thread_id) REFERENCES articles_note (id)",
        "DROP TRIGGER audit_refuses_update",
        "DROP TRIGGER feed_article_update",
        "CREATE TRIGGER feed_article_update AFTER UPDATE ON articles_article FOR EACH ROW BEGIN DO 0; END",
    ),
    "sqlite": ("DROP TRIGGER audit_refuses_update", "DROP TRIGGER feed_article_update"),
}
"""What a server before MariaDB 10.7, a server with another collation and an incomplete dump leave."""


@pytest.fixture(autouse=True)
def _repaired() -> Iterator[None]:
    yield
    repair(find_differences())


def execute(*statements: str) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement, None)


def lose() -> None:
    execute(*LOSSES[connection.vendor])


def test_what_another_server_or_a_dump_has_left_is_found_named_and_repaired(tmp_path: Path) -> None:
    wanted = describe()
    call_command("check", databases=["default"])
    stored = Notification.objects.create(user=make_editor(), kind=Notification.Kind.FAILED, at=timezone.now())
    lose()
    with pytest.raises(SystemCheckError, match=COMMAND):
        call_command("check", databases=["default"])
    with pytest.raises(SystemCheckError, match=COMMAND):
        call_command("upgrade", "--backup", str(tmp_path))
    advice = [
        str(one.advice) for one in examine(outward=False) if (one.area, one.level) == (Area.DATABASE, Level.FAILURE)
    ]
    assert [COMMAND in text for text in advice] == [True]
    assert list(tmp_path.iterdir()) == []

    output = StringIO()
    call_command("upgrade", "--repair", "--backup", str(tmp_path), stdout=output)

    assert "audit_refuses_update" in output.getvalue()
    assert differences(describe(), wanted) == {}
    assert len(list(tmp_path.glob("headline-*.zip"))) == 1
    call_command("check", databases=["default"])
    assert Notification.objects.get().pk == stored.pk


def test_a_repair_goes_on_after_an_interruption_at_each_statement() -> None:
    wanted = describe()
    lose()
    assert run_with_interruptions(lambda: repair(find_differences())) > 1
    assert find_differences().names == []
    assert differences(describe(), wanted) == {}


def test_no_column_is_changed_while_workers_run(tmp_path: Path) -> None:
    lose()
    now = read_database_clock()
    WorkerHeartbeat.objects.create(name="w:1", started_at=now, seen_at=now)
    with pytest.raises(CommandError, match="1 workers are running: stop them"):
        call_command("upgrade", "--repair", "--backup", str(tmp_path))
    assert list(tmp_path.iterdir()) == []
    assert find_differences().triggers
