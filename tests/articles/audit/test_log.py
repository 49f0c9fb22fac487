"""The audit log: complete and append-only."""

from __future__ import annotations

import csv
import json
import re
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.contrib.auth.models import Permission
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.urls import reverse
from rest_framework.test import APIClient

from articles import publishing
from articles.audit.log import Source, source
from articles.exceptions import WrongState
from articles.handlers import publish
from articles.models import Article, AuditEntry, CoverMode, Preferences
from articles.models.audit import AppendOnly
from articles.publishing.previews import make_preview_link
from scheduling.models import TaskInfo
from tests.articles.factories import APPROVED, approve, make_article, make_editor, make_user, soon
from tests.articles.image_files import make_image, shown
from tests.conftest import Manage

pytestmark = pytest.mark.django_db

Status = Article.Status
MESSAGE = "never changed or deleted"


@pytest.fixture
def entry() -> AuditEntry:
    make_article("Mayor resigns")
    return AuditEntry.objects.get()


def latest() -> AuditEntry:
    return AuditEntry.objects.latest("id")


def test_a_transition_records_actor_action_time_and_source() -> None:
    alice, article = make_editor(), make_article(status=Status.MANUAL_REVIEW, publish_at=soon(hours=1))
    before = soon()

    approve(article, by=alice)

    entry = latest()
    assert (entry.action, entry.source, entry.user_id, entry.user_name) == ("approve", "python", alice.pk, "alice")
    assert (entry.article_id, entry.article_title) == (article.pk, article.title)
    assert (entry.old_status, entry.new_status) == (Status.MANUAL_REVIEW, Status.MANUALLY_APPROVED)
    assert before <= entry.at <= soon()


def test_a_new_time_is_recorded_beside_the_old() -> None:
    alice, old, new = make_editor(), soon(hours=1), soon(hours=2)
    article = make_article(status=APPROVED, publish_at=old)

    publishing.schedule(article, publish_at=new, by=alice)

    assert (latest().old_time, latest().new_time) == (old, new)


def test_a_refusal_is_recorded_with_its_reason() -> None:
    article = make_article(status=Status.MANUAL_REVIEW)
    publishing.reject(article, by=make_editor(), reason="No second source")
    assert latest().reason == "No second source"


def test_what_is_refused_leaves_no_entry() -> None:
    article = make_article()
    entries = AuditEntry.objects.count()
    with pytest.raises(WrongState):
        approve(article)
    assert AuditEntry.objects.count() == entries


def test_an_edit_is_recorded_with_the_fields_it_changed() -> None:
    article, end = make_article(), datetime(2030, 1, 1, tzinfo=UTC)
    publishing.edit(article, by=make_editor(), changes={"title": "Bridge closes", "unpublish_at": end})
    assert latest().action == "edit"
    assert sorted(latest().details["changed"]) == ["title", "unpublish_at"]
    assert latest().details["unpublish_at"] == [None, "2030-01-01T00:00:00+00:00"]


def test_what_is_sent_and_stays_as_it_was_is_not_recorded_as_changed() -> None:
    article, client = make_article(summary="Cars first"), APIClient()
    client.force_authenticate(make_editor())
    address, entries = f"/api/v1/desk/articles/{article.pk}/", AuditEntry.objects.count()
    same: dict[str, Any] = {"title": article.title, "summary": "Cars first", "unpublish_at": None, "tags": []}
    assert client.patch(address, same, format="json").status_code == 200
    assert AuditEntry.objects.count() == entries
    assert client.patch(address, {**same, "summary": "Trams first"}, format="json").status_code == 200
    assert latest().details["changed"] == ["summary"]
    TaskInfo.objects.all().delete()
    Article.objects.update(status=APPROVED, publish_at=soon(hours=1))
    assert client.patch(address, {"title": article.title}, format="json").status_code == 200
    assert TaskInfo.objects.count() == 1, "it repairs the tasks"


def test_a_cover_is_recorded_with_what_has_changed_it() -> None:
    article, editor = make_article(), make_editor()
    image = make_image(editor, "A ship")
    publishing.edit(article, by=editor, changes={"cover_mode": CoverMode.ONE, "cover": [str(image.pk)]})
    assert latest().details["changed"] == ["cover", "cover_mode"]
    publishing.edit(article, by=editor, changes={"cover_mode": CoverMode.NONE})
    assert latest().details["changed"] == ["cover", "cover_mode"]
    publishing.edit(article, by=editor, changes={"body": shown(image), "cover_mode": CoverMode.AUTO})
    assert latest().details["changed"] == ["body", "cover", "cover_mode"]


def test_a_time_that_occurs_twice_is_recorded_once() -> None:
    """Python says of two such times of a zone that neither equals the other's instant."""
    article, editor = make_article(), make_editor()
    second = datetime(2030, 10, 27, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"), fold=1)
    publishing.edit(article, by=editor, changes={"unpublish_at": second})
    entries = AuditEntry.objects.count()
    publishing.edit(article, by=editor, changes={"unpublish_at": second})
    assert AuditEntry.objects.count() == entries


@pytest.mark.parametrize("hours", [-1, 1], ids=["live", "approved"])
def test_a_program_may_send_times_as_they_are(hours: int) -> None:
    """It needs no permission to set them, nor a status in which they may be set."""
    writer = make_user("writer", "change_article", "view_article", "edit_any_article")
    article, client = make_article(status=APPROVED, publish_at=soon(hours=hours)), APIClient()
    client.force_authenticate(writer)
    address = f"/api/v1/desk/articles/{article.pk}/"
    found = client.get(address).json()
    sent = {name: found[name] for name in ("publish_at", "embargo_until", "unpublish_at")} | {"title": "Bridge closes"}
    assert client.patch(address, sent, format="json").status_code == 200
    assert latest().details["changed"] == ["title"]


def test_one_entry_for_one_deed() -> None:
    alice, article = make_editor(), make_article()
    publishing.edit(article, by=alice, changes={"title": "Bridge closes"})
    publishing.submit(article, by=alice)
    entries = AuditEntry.objects.of(article).values_list("action", flat=True)
    assert list(entries) == ["submit", "edit", "create"]


def test_scheduling_many_leaves_an_entry_for_each() -> None:
    articles = [make_article(f"No. {number}", status=APPROVED, publish_at=soon(hours=number)) for number in (1, 2)]
    new = soon(hours=5)

    publishing.schedule_many(articles, publish_at=new, by=make_editor())

    entries = AuditEntry.objects.filter(action="schedule")
    assert {(entry.article_id, entry.old_time, entry.new_time) for entry in entries} == {
        (article.pk, article.publish_at, new) for article in articles
    }


def test_the_clock_is_named_as_the_one_who_published() -> None:
    article = make_article(status=APPROVED, publish_at=soon(seconds=-1))
    publish([TaskInfo(task_id=1, parameters={"article_id": article.pk}, execute_time=soon(), promised_at=soon())])
    assert (latest().action, latest().source, latest().user_name) == ("published", "worker", "")
    assert (latest().old_status, latest().new_status) == (APPROVED, Status.PUBLISHED)


def test_a_save_outside_the_services_is_recorded_all_the_same() -> None:
    article = make_article()
    article.status = APPROVED
    article.save()
    assert (latest().action, latest().old_status, latest().new_status) == ("save", Status.DRAFT, APPROVED)
    assert latest().details == {"changed": ["status"]}


def test_a_save_that_changes_nothing_is_not_recorded() -> None:
    article = make_article()
    article.save()
    assert latest().action == "create"


def test_the_audit_log_outlives_user_and_article() -> None:
    alice, article = make_editor(), make_article(status=Status.MANUAL_REVIEW)
    approve(article, by=alice)
    alice_id, article_id = alice.pk, article.pk

    with source(Source.PYTHON, by=make_user("bob")):
        article.delete()
    alice.delete()

    approval = AuditEntry.objects.get(action="approve")
    assert (approval.user_id, approval.user_name) == (alice_id, "alice")
    assert (approval.article_id, approval.article_title) == (article_id, "Harbour bridge reopens")
    deletion = AuditEntry.objects.filter(article_id=article_id).latest("id")
    assert (deletion.action, deletion.user_name) == ("delete", "bob")


def test_the_admin_is_a_source(client: Client) -> None:
    article = make_article(status=APPROVED, publish_at=soon(hours=1))
    client.force_login(make_editor())
    chosen = {"action": "unschedule", "_selected_action": [article.pk]}
    response = client.post(reverse("admin:articles_article_changelist"), chosen)
    client.post(f"{response.headers['Location']}advance/")
    assert (latest().action, latest().source, latest().user_name) == ("unschedule", "admin", "alice")


def test_the_api_is_a_source() -> None:
    client = APIClient()
    client.force_authenticate(make_editor())
    client.post("/api/v1/desk/articles/", {"title": "Tram derails"})
    assert (latest().action, latest().source, latest().user_name) == ("create", "api", "alice")


def test_a_command_is_a_source() -> None:
    call_command("demo", password="secret", verbosity=0)
    assert set(AuditEntry.objects.values_list("source", flat=True)) == {"command"}


@pytest.mark.parametrize(
    "attempt",
    [
        lambda entry: entry.save(),
        lambda entry: entry.delete(),
        lambda entry: AuditEntry.objects.update(user_name="nobody"),
        lambda entry: AuditEntry.objects.all().delete(),
        lambda entry: AuditEntry.objects.bulk_update([entry], ["user_name"]),
    ],
)
def test_django_refuses_to_change_the_audit_log(entry: AuditEntry, attempt: Callable[[AuditEntry], Any]) -> None:
    with pytest.raises(AppendOnly):
        attempt(entry)
    assert AuditEntry.objects.get().user_name == entry.user_name


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE articles_auditentry SET user_name = 'nobody'",
        "DELETE FROM articles_auditentry",
        "REPLACE INTO articles_auditentry (id, at, action, source, user_name, article_title, reason, details)"
        " SELECT id, at, action, source, 'nobody', article_title, reason, details FROM articles_auditentry",
    ],
)
def test_the_database_refuses_to_change_the_audit_log(entry: AuditEntry, statement: str) -> None:
    with pytest.raises(DatabaseError, match=MESSAGE), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert AuditEntry.objects.get().user_name == entry.user_name


def test_django_s_own_ways_around_a_model_meet_the_triggers(entry: AuditEntry) -> None:
    with pytest.raises(DatabaseError, match=MESSAGE), transaction.atomic():
        AuditEntry.objects.filter(pk=entry.pk)._raw_delete("default")
    assert AuditEntry.objects.exists()


@pytest.fixture
def history() -> Article:
    alice, article = make_editor(), make_article("Mayor, “resigns”", status=Status.MANUAL_REVIEW)
    publishing.reject(article, by=alice, reason="No second source")
    return article


def test_the_audit_log_is_exported_as_json_lines(history: Article, tmp_path: Path) -> None:
    call_command("audit", "export", str(tmp_path / "audit.jsonl"), stderr=StringIO())
    created, refused = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert (created["action"], created["article_id"]) == ("create", history.pk)
    assert (refused["user_name"], refused["reason"]) == ("alice", "No second source")
    assert datetime.fromisoformat(refused["at"]).tzinfo


def test_the_audit_log_is_exported_as_a_table(history: Article, tmp_path: Path) -> None:
    call_command("audit", "export", str(tmp_path / "audit.csv"), "--format", "csv", stderr=StringIO())
    with (tmp_path / "audit.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["action"], row["article_title"]) for row in rows] == [
        ("create", history.title),
        ("reject", history.title),
    ]


@pytest.mark.parametrize("verb", ["jsonl", "csv"])
def test_an_export_is_for_its_owner_s_eyes_alone(history: Article, tmp_path: Path, verb: str) -> None:
    """A new file, and one that others could read."""
    new, old = tmp_path / "new", tmp_path / "old"
    old.touch(mode=0o644)
    for file in (new, old):
        call_command("audit", "export", str(file), "--format", verb, stderr=StringIO())
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "title", ['=HYPERLINK("https://a.example","x")', "@SUM(1)", "-2+3", "+1", "＝1+1", "＋1", "－1", "＠SUM(1)"]
)
def test_no_spreadsheet_calculates_what_a_user_wrote(title: str, tmp_path: Path) -> None:
    make_article(title)
    call_command("audit", "export", str(tmp_path / "audit.csv"), "--format", "csv", stderr=StringIO())
    with (tmp_path / "audit.csv").open(newline="") as file:
        assert [row["article_title"] for row in csv.DictReader(file)] == [f"'{title}"]


def test_a_spreadsheet_that_separates_at_semicolons_sees_one_cell(tmp_path: Path) -> None:
    make_article("x;=1+1;")
    call_command("audit", "export", str(tmp_path / "audit.csv"), "--format", "csv", stderr=StringIO())
    assert '"x;=1+1;"' in (tmp_path / "audit.csv").read_text()


@pytest.mark.parametrize(
    ("narrowed", "found"),
    [
        ((), 2),
        (("--action", "reject"), 1),
        (("--user", "alice"), 1),
        (("--source", "admin"), 0),
        (("--since", "2100-01-01"), 0),
        (("--until", "2100-01-01T00:00+08:00"), 2),
        (("--article", "0"), 0),
        (("--limit", "1"), 1),
    ],
)
def test_the_audit_log_is_listed(history: Article, narrowed: tuple[str, ...], found: int) -> None:
    out = StringIO()
    call_command("audit", "list", *narrowed, stdout=out)
    assert len(out.getvalue().splitlines()) == found


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_list_of_no_or_fewer_entries_is_refused(limit: str) -> None:
    with pytest.raises(CommandError, match="is not a positive whole number"):
        call_command("audit", "list", f"--limit={limit}")


@pytest.mark.cases(1)
@pytest.mark.parametrize("time", ["nope", "2030-02-29T00:00Z"])
def test_a_mistyped_time_is_refused_with_a_message(manage: Manage, time: str) -> None:
    refused = manage("audit", "list", "--since", time)
    assert refused.returncode == 2
    assert f"“{time}” does not name one time; write for example 2026-11-21T07:00+08:00." in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_screen_shows_the_record_and_changes_nothing(history: Article, client: Client) -> None:
    client.force_login(make_user("root", is_superuser=True))
    entry = latest()
    shown = client.get(reverse("admin:articles_auditentry_changelist"), {"action": "reject"}).content.decode()
    assert "No second source" in shown
    assert "Needs review → Rejected" in shown
    change = reverse("admin:articles_auditentry_change", args=[entry.pk])
    assert client.get(change).status_code == 200
    assert client.post(change, {"user_name": "nobody"}).status_code == 403
    assert client.post(reverse("admin:articles_auditentry_delete", args=[entry.pk]), {"post": "yes"}).status_code == 403
    assert client.get(reverse("admin:articles_auditentry_add")).status_code == 403
    assert latest().user_name == "alice"


def details(client: Client, entry: AuditEntry) -> str:
    """The details on the page of an entry."""
    page = client.get(f"/admin/articles/auditentry/{entry.pk}/change/").text
    assert "/history/" not in page
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


def test_the_details_of_an_entry_are_read_in_words_and_in_ones_own_zone(client: Client) -> None:
    editor, end = make_editor(), datetime(2030, 1, 1, 12, tzinfo=UTC)
    editor.user_permissions.add(Permission.objects.get(codename="view_auditentry"))
    Preferences.objects.create(user=editor, time_zone="Asia/Shanghai")
    client.force_login(editor)
    article = make_article("Old", status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    publishing.edit(article, by=editor, changes={"title": "New", "cover_mode": "none", "unpublish_at": end})
    said = details(client, AuditEntry.objects.of(article)[0])
    assert "changed: unpublish at, cover, headline" in said
    assert "unpublish at: — → 1 Jan 2030, 20:00:00 Asia/Shanghai (UTC+8)" in said
    publishing.submit(article, by=editor)
    assert "pending update: Needs review" in details(client, AuditEntry.objects.of(article)[0])
    publishing.schedule_update(article, publish_at=end, by=editor)
    assert "update goes live: 1 Jan 2030, 20:00:00 Asia/Shanghai (UTC+8)" in details(
        client, AuditEntry.objects.of(article)[0]
    )
    make_preview_link(article, by=editor, lasts=timedelta(days=1))
    said = details(client, AuditEntry.objects.of(article)[0])
    assert "expires:" in said
    assert "link:" not in said
    assert "T12:00" not in said
