"""Backups are consistent and complete or absent; a restored one repeats nothing."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import signal
import socket
import threading
import tracemalloc
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import QuerySet
from rest_framework.test import APIClient

from articles import events
from articles.models import Article, Image, Release, Tag, Update
from articles.task_types import MAIL, PING, PUBLISH, PURGE
from headline.backup import past_due, rows
from headline.backup.storage import media_files
from scheduling.models import Installation, TaskInfo, TaskInfoLog
from scheduling.services import add_task
from tests.articles.factories import EARLY, make_article, make_channel, make_editor, make_release, soon
from tests.conftest import Manage
from tests.harness.emptying import empty_quickly
from tests.harness.schema import SQLITE, load
from tests.probe.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _without_effects(transactional_db: None) -> None:
    """A restore needs an empty database; a process of an earlier test may have noted an effect as that ended."""
    Effect.objects.all().delete()


Status = Article.Status
Table = list[dict[str, Any]]


def backup(target: Path) -> Path:
    output = StringIO()
    call_command("backup", str(target), stdout=output)
    return Path(output.getvalue().split()[0].removeprefix("backup="))


def refusal(name: str, *arguments: object, returncode: int = 2) -> str:
    with pytest.raises(CommandError) as error:
        call_command(name, *map(str, arguments))
    assert error.value.returncode == returncode
    return str(error.value)


def table(archive: Path, name: str) -> Table:
    with ZipFile(archive) as file:
        columns, *lines = map(json.loads, file.read(f"database/{name}.jsonl").splitlines())
    return [dict(zip(columns, line, strict=True)) for line in lines]


def manifest(archive: Path) -> dict[str, Any]:
    with ZipFile(archive) as file:
        return dict(json.loads(file.read("manifest.json")))


def edited(archive: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    """A copy with another manifest."""
    values, copy = manifest(archive), archive.with_name("edited.zip")
    edit(values)
    with ZipFile(archive) as old, ZipFile(copy, "w") as new:
        for name in old.namelist():
            new.writestr(name, json.dumps(values) if name == "manifest.json" else old.read(name))
    return copy


# Writing


def test_a_backup_has_tables_images_and_settings_but_no_secrets(tmp_path: Path) -> None:
    article = make_article("Ferry runs again", channel=make_channel())
    make_article("桥 🌉")
    default_storage.save("images/2030/bridge.jpg", ContentFile(b"\xff\xd8 picture"))
    Session.objects.create(session_key="s" * 32, session_data="", expire_date=soon(days=1))
    file = backup(tmp_path)
    assert file.name.startswith("headline-2")
    assert file.stat().st_mode & 0o777 == 0o600
    assert [row["title"] for row in table(file, "articles_article")] == [article.title, "桥 🌉"]
    with ZipFile(file) as archive:
        assert archive.read("media/images/2030/bridge.jpg") == b"\xff\xd8 picture"
        assert "database/django_session.jsonl" not in archive.namelist()
    found = manifest(file)
    assert found["settings"]["DJANGO_DEBUG"] == "on"
    assert "DATABASE_URL" not in found["settings"]
    if connection.vendor == "mysql":
        assert {"DATABASE_URL", "REDIS_URL"} <= set(found["unsaved"])
    assert found["rows"]["articles_article"] == 2


def test_a_backup_shows_one_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others commit after it began is in no table of it."""
    make_article("Before")
    vars(connection.features).pop("supports_json_field", None)  # as in a new process
    dump = rows.dump

    def write() -> None:
        make_article("After").tags.add(Tag.objects.create(name="new", slug="new"))
        connection.close()

    def slow(name: str) -> Iterator[bytes]:
        if name == "articles_article":
            thread = threading.Thread(target=write)
            thread.start()
            thread.join()
        yield from dump(name)

    monkeypatch.setattr(rows, "dump", slow)
    file = backup(tmp_path)
    assert [row["title"] for row in table(file, "articles_article")] == ["Before"]
    assert table(file, "articles_tag") == table(file, "articles_article_tags") == []
    assert Article.objects.count() == 2


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Files cannot grow beyond this: writing fails as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_during_the_backup_leaves_no_file(tmp_path: Path) -> None:
    default_storage.save("images/large.jpg", ContentFile(os.urandom(300_000)))
    with largest_file(100_000):
        message = refusal("backup", tmp_path / "full.zip")
    assert message == (f"The disk of {tmp_path} is full: no backup was written. Free space, or name another directory.")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_without_space_is_refused_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", ["free"])
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(1000))
    assert "is too full" in refusal("backup", tmp_path)


def test_a_backup_replaces_no_file_and_needs_a_directory(tmp_path: Path) -> None:
    file = backup(tmp_path / "one.zip")
    assert refusal("backup", file) == f"{file} exists: name another file, or a directory."
    assert "There is no directory" in refusal("backup", tmp_path / "missing" / "one.zip")


# Refusing to restore


def test_what_is_no_complete_backup_is_refused(tmp_path: Path) -> None:
    file = backup(tmp_path / "one.zip")
    content = file.read_bytes()
    for wrong in (content[:-100], content[: len(content) // 2], b"", b"not a zip"):
        file.write_bytes(wrong)
        assert "may be truncated. Copy it again" in refusal("restore", file)
    assert "cannot be read" in refusal("restore", tmp_path / "missing.zip")


def test_a_damaged_backup_is_refused(tmp_path: Path) -> None:
    default_storage.save("images/a.jpg", ContentFile(b"abcdef" * 100))
    file = backup(tmp_path / "one.zip")
    shutil.rmtree(settings.MEDIA_ROOT)
    file.write_bytes(file.read_bytes().replace(b"abcdefabc", b"abcdefabd", 1))
    assert "Copy it again" in refusal("restore", file)
    other = edited(
        backup(tmp_path / "two.zip"), lambda found: found["digests"].update({"database/auth_user.jsonl": "0"})
    )
    assert "is damaged at database/auth_user.jsonl" in refusal("restore", other)


def test_a_backup_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    file = backup(tmp_path / "one.zip")
    newer = edited(file, lambda found: found["migrations"].append(["articles", "9999_future"]))
    assert "was made by a newer version of Headline (0.1.0, articles.9999_future)" in refusal("restore", newer)
    newer = edited(file, lambda found: found.update(format=2))
    assert "has the format 2: install the version that made it" in refusal("restore", newer)


def test_a_target_that_is_not_empty_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = backup(tmp_path / "one.zip")
    default_storage.save("images/a.jpg", ContentFile(b"a"))
    assert "There are images in" in refusal("restore", file)
    shutil.rmtree(settings.MEDIA_ROOT)
    usage = namedtuple("usage", ["free"])
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda path: usage(1000))
        assert "is too full" in refusal("restore", file)
    make_article()
    assert "create an empty one, point DATABASE_URL" in refusal("restore", file)


# Restoring


@dataclass
class Outlet:
    """A server that stands for mail server, hub and CDN, and counts who connects."""

    port: int
    connections: int = 0

    @property
    def environment(self) -> dict[str, str]:
        address = f"http://127.0.0.1:{self.port}/"
        return {"EMAIL_URL": f"smtp://127.0.0.1:{self.port}", "WEBSUB_HUB": address, "CDN_PURGE_URLS": address}


@pytest.fixture
def outlet() -> Iterator[Outlet]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = Outlet(server.getsockname()[1])

        def count() -> None:
            try:
                while True:
                    server.accept()[0].close()
                    found.connections += 1
            except OSError:
                return

        thread = threading.Thread(target=count, daemon=True)
        thread.start()
        yield found
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of another, empty installation."""
    if connection.vendor == "sqlite":
        shutil.copyfile(Path(os.environ["TEST_DIRECTORY"]) / SQLITE, tmp_path / "empty.sqlite3")
        yield {"DATA_DIR": str(tmp_path / "data"), "DATABASE_URL": f"sqlite:///{tmp_path}/empty.sqlite3"}
        return
    name = f"restored_{os.getpid()}"
    url = os.environ["DATABASE_URL"].rpartition("/")[0] + f"/{name}"
    load(url)
    yield {"DATA_DIR": str(tmp_path / "data"), "DATABASE_URL": url}
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE {name}")


def past_newsroom() -> None:
    """What was live, what became due an hour ago, what is still to come, and effects that were on their way."""
    Installation.objects.get_or_create(pk=1)
    chief, channel = make_editor(), make_channel()
    for title, hours in (("Seen", -3), ("Since", -1), ("Future", 24)):
        times = {"publish_at": soon(hours=hours), "cleared_at": EARLY}
        make_article(title, status=Status.APPROVED, channel=channel, author=chief, **times)
    live = make_article("Live", status=Status.PUBLISHED, publish_at=soon(hours=-9), channel=channel)
    text = live.revisions.latest("pk")
    Update.objects.create(article=live, approved=text, publish_at=soon(hours=-1))
    member = make_article("Member", status=Status.APPROVED, channel=channel)
    release = make_release(member, by=chief)
    QuerySet(Release).filter(pk=release.pk).update(status=Release.Status.SCHEDULED, publish_at=soon(hours=-1))
    TaskInfo.objects.filter(task_type__in=[MAIL, PING, PURGE]).delete()
    for name, parameters in (
        (MAIL, {"notice": 1}),
        (PING, {"topics": ["x"]}),
        (PURGE, {"articles": [], "tags": ["x"]}),
    ):
        add_task(name, execute_time=soon(hours=-1), parameters=parameters)
    add_task("programs.past", execute_time=soon(hours=-1), parameters={})
    add_task("programs.future", execute_time=soon(hours=24), parameters={})


@dataclass
class Restored:
    """What the restored installation has after workers ran."""

    report: str
    archive: Path

    def articles(self) -> dict[str, dict[str, Any]]:
        return {row["title"]: row for row in table(self.archive, "articles_article")}

    def statuses(self) -> dict[str, int]:
        return {title: row["status"] for title, row in self.articles().items()}

    def tasks(self) -> set[str]:
        return {row["task_type"] for row in table(self.archive, "taskinfo")}

    def logs(self) -> dict[str, int]:
        return {row["task_type"]: row["status"] for row in table(self.archive, "taskinfo_logs")}


@pytest.fixture
def restored(manage: Manage, tmp_path: Path, empty: dict[str, str], outlet: Outlet) -> Callable[[str], Restored]:
    """Back up the newsroom as of two hours ago, restore it elsewhere, and let workers run there."""

    def run(choice: str) -> Restored:
        past_newsroom()
        default_storage.save("images/2030/bridge.jpg", ContentFile(b"picture"))
        taken = (soon(hours=-2)).isoformat()
        file = edited(backup(tmp_path / "one.zip"), lambda found: found.update(taken_at=taken))
        environment = {**empty, **outlet.environment}
        report = output_of("restore", str(file), "--past-due", choice, env=environment)
        # The next full minute, for which things are rescheduled, may come at any time.
        for command in ("refresh",) if choice == "reschedule" else ("refresh", "poll"):
            output_of(command, env=environment)
        output_of("backup", str(tmp_path / "after.zip"), env=environment)
        assert outlet.connections == 0
        return Restored(report, tmp_path / "after.zip")

    def output_of(*arguments: str, env: dict[str, str]) -> str:
        done = manage(*arguments, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def test_what_became_due_since_is_held_and_nothing_is_sent(restored: Callable[[str], Restored]) -> None:
    found = restored("hold")
    assert found.statuses() == {
        "Seen": Status.PUBLISHED,
        "Since": Status.APPROVED,
        "Future": Status.APPROVED,
        "Live": Status.PUBLISHED,
        "Member": Status.APPROVED,
    }
    assert found.articles()["Since"]["publish_at"] is None
    seen = found.articles()["Seen"]
    assert seen["published_at"] == seen["publish_at"]
    entries = table(found.archive, "articles_auditentry")
    assert [row["new_time"] for row in entries if (row["article_id"], row["action"]) == (seen["id"], "published")] == [
        seen["publish_at"]
    ]
    assert found.tasks() == {PUBLISH, "programs.future"}
    assert {name: found.logs()[name] for name in (MAIL, PING, PURGE)} == dict.fromkeys(
        (MAIL, PING, PURGE), TaskInfoLog.Status.CANCELLED
    )
    assert found.logs()["programs.past"] == TaskInfoLog.Status.FAILED
    assert [row["publish_at"] for row in table(found.archive, "articles_update")] == [None]
    assert [row["status"] for row in table(found.archive, "articles_release")] == ["draft"]
    assert table(found.archive, "articles_notification") == []
    assert {"unschedule", "unschedule_update", "reopen_release"} <= {
        row["action"] for row in table(found.archive, "articles_auditentry")
    }
    assert manifest(found.archive)["digests"]["media/images/2030/bridge.jpg"]
    assert "held=4 published=0 rescheduled=0 retried=0 failed=0" in found.report
    assert "held article" in found.report
    here = Installation.objects.get().identity.hex
    assert table(found.archive, "scheduling_installation")[0]["identity"] not in ("", here)


@pytest.mark.thorough
def test_what_became_due_since_is_published_silently(restored: Callable[[str], Restored]) -> None:
    found = restored("publish")
    assert found.statuses() == {
        "Seen": Status.PUBLISHED,
        "Since": Status.PUBLISHED,
        "Future": Status.APPROVED,
        "Live": Status.PUBLISHED,
        "Member": Status.PUBLISHED,
    }
    assert found.tasks() == {PUBLISH, "programs.future", "programs.past"}
    assert table(found.archive, "articles_update") == []
    assert [row["status"] for row in table(found.archive, "articles_release")] == ["published"]
    assert table(found.archive, "articles_notification") == []
    assert "held=0 published=3 rescheduled=0 retried=1" in found.report


@pytest.mark.thorough
def test_what_became_due_since_is_rescheduled_one_a_minute(restored: Callable[[str], Restored]) -> None:
    found = restored("reschedule")
    times = [
        found.articles()["Since"]["publish_at"],
        table(found.archive, "articles_update")[0]["publish_at"],
        table(found.archive, "articles_release")[0]["publish_at"],
        *(row["execute_time"] for row in table(found.archive, "taskinfo") if row["task_type"] == "programs.past"),
    ]
    first, *others = sorted(map(datetime.fromisoformat, times))
    assert [other - first for other in others] == [timedelta(minutes=number) for number in (1, 2, 3)]
    assert found.tasks() == {PUBLISH, "articles.update", "articles.release", "programs.future", "programs.past"}
    assert "held=0 published=0 rescheduled=4 retried=0" in found.report


# Files that were altered, and restoring that is interrupted


def restore_here(file: Path) -> str:
    """Restore into this database, which is emptied before."""
    empty_quickly(lambda: None)
    shutil.rmtree(settings.MEDIA_ROOT, ignore_errors=True)
    output = StringIO()
    call_command("restore", str(file), stdout=output)
    return output.getvalue()


@pytest.fixture
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the subscribers back that restoring takes away."""
    monkeypatch.setattr(events, "_subscribers", {})


def with_image(name: str) -> Callable[[dict[str, Any]], object]:
    """Name the backup's image otherwise."""

    def edit(found: dict[str, Any]) -> None:
        for values in (found["digests"], found["sizes"]):
            values[f"media/{name}"] = values.pop("media/images/a.jpg")

    return edit


AUTH_USER = {"rows": "auth_user", "digests": "database/auth_user.jsonl", "sizes": "database/auth_user.jsonl"}


@pytest.mark.parametrize(
    "edit",
    [
        *(with_image(name) for name in ("../../outside.jpg", "/outside.jpg", "images/./a.jpg", "a\\b.jpg", "a\0.jpg")),
        lambda found: found.update(taken_at="2030-01-01T00:00:00"),
        lambda found: found.update(taken_at="yesterday"),
        lambda found: found.update(rows=[]),
        lambda found: found["rows"].update({"mysql.user": 0}),
        lambda found: found["digests"].pop("database/auth_user.jsonl"),
        lambda found: [found[name].pop(table) for name, table in AUTH_USER.items()],
        lambda found: found.pop("sizes"),
    ],
)
def test_an_altered_backup_is_refused_before_anything_is_written(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    make_article()
    default_storage.save("images/a.jpg", ContentFile(b"a"))
    file = edited(backup(tmp_path / "one.zip"), edit)
    empty_quickly(lambda: None)
    shutil.rmtree(settings.MEDIA_ROOT)
    assert "another backup" in refusal("restore", file)
    assert not Article.objects.exists()
    assert list(tmp_path.parent.glob("**/outside.jpg")) == []
    assert not settings.MEDIA_ROOT.exists()


def test_any_damage_is_refused_in_a_sentence(tmp_path: Path) -> None:
    """Bits that say how members are stored, such as encrypted or in another format."""
    file = backup(tmp_path / "one.zip")
    content = bytearray(file.read_bytes())
    entry = content.rindex(b"PK\x01\x02", 0, content.rindex(b"PK\x01\x02"))  # of a table
    for offset, bits in ((6, 0x80), (8, 0x01), (8, 0x20), (8, 0x40), (10, 0x04), (10, 0x06), (10, 0x40), (42, 0x01)):
        content[entry + offset] ^= bits
        file.write_bytes(content)
        assert "Copy it again, or use another backup" in refusal("restore", file)
        content[entry + offset] ^= bits


def test_other_columns_are_refused(tmp_path: Path) -> None:
    file, other = backup(tmp_path / "one.zip"), tmp_path / "other.zip"
    name = "database/articles_tag.jsonl"
    wrong = b'["id","`name`) SELECT 1; DROP TABLE articles_tag; -- "]\n'
    values = manifest(file)
    values["digests"][name] = sha256(wrong).hexdigest()
    with ZipFile(file) as old, ZipFile(other, "w") as new:
        contents: dict[str, bytes | str] = {name: wrong, "manifest.json": json.dumps(values)}
        for member in old.namelist():
            new.writestr(member, contents.get(member, old.read(member)))
    empty_quickly(lambda: None)
    assert "articles_tag has other columns" in refusal("restore", other)


def test_a_disk_that_fills_during_restoring_leaves_nothing(tmp_path: Path) -> None:
    default_storage.save("images/a.jpg", ContentFile(b"a"))
    default_storage.save("images/b.jpg", ContentFile(os.urandom(3_000_000)))
    file = backup(tmp_path / "one.zip")
    shutil.rmtree(settings.MEDIA_ROOT)
    with largest_file(1_000_000):
        message = refusal("restore", file)
    assert message.startswith(f"{settings.DATA_DIR} cannot be written (File too large): nothing was restored")
    assert list(media_files()) == []


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    file = backup(tmp_path / "one.zip")
    with connection.cursor() as cursor:
        cursor.execute("CREATE TABLE wp_posts (id integer)")
        cursor.execute("ALTER TABLE django_migrations RENAME TO elsewhere")
        try:
            assert "is not empty (it has " in refusal("restore", file)
        finally:
            cursor.execute("ALTER TABLE elsewhere RENAME TO django_migrations")
            cursor.execute("DROP TABLE wp_posts")


@pytest.mark.usefixtures("_quiet")
def test_ids_are_not_used_again_after_restoring(tmp_path: Path) -> None:
    """Neither those of articles deleted before the backup nor those of articles written since."""
    deleted = make_article().pk
    Article.objects.all().delete()
    file = edited(backup(tmp_path / "one.zip"), lambda found: found.update(taken_at=soon(hours=-1).isoformat()))
    restore_here(file)
    assert make_article().pk > deleted + 3599


@pytest.mark.usefixtures("_quiet")
def test_programs_that_follow_the_changes_start_over_after_restoring(tmp_path: Path) -> None:
    """They may have a copy of an article that was published since the backup."""
    make_article("Before", status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    api, address = APIClient(), "/api/v1/articles/"
    begin = {"updated_since": "2000-01-01T00:00:00Z"}
    api.get(address, begin)
    file = backup(tmp_path / "one.zip")
    make_article("Since", status=Article.Status.PUBLISHED, publish_at=soon(hours=-1))
    checkpoint = api.get(address, begin).json()["checkpoint"]
    restore_here(file)
    refused = api.get(address, {"updated_since": checkpoint})
    assert (refused.status_code, refused.json()["code"]) == (400, "unknown_checkpoint")
    again = api.get(address, begin).json()
    assert [one["title"] for one in again["results"]] == ["Before"]
    assert api.get(address, {"updated_since": again["checkpoint"]}).json()["results"] == []


@pytest.mark.usefixtures("_quiet")
def test_tables_longer_than_a_page_are_restored_completely(tmp_path: Path) -> None:
    """Also those with random keys, which MariaDB has a type for."""
    images = [Image(digest=str(number), file="x", width=1, height=1, size=1) for number in range(450)]
    Image.objects.bulk_create(images)
    Tag.objects.bulk_create(Tag(name=f"Näme {number}", slug=f"n-{number}") for number in range(450))
    file = backup(tmp_path / "one.zip")
    restore_here(file)
    assert {image.pk for image in images} == set(Image.objects.values_list("pk", flat=True))
    assert Tag.objects.count() == 450


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.thorough)])
def test_an_interruption_leaves_nothing_and_is_reported_in_a_sentence(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    default_storage.save("images/a.jpg", ContentFile(b"a"))
    file = backup(tmp_path / "one.zip")
    shutil.rmtree(settings.MEDIA_ROOT)
    for change, name, command, sentence in (
        (rows, "next_ids", "backup", "No backup was written."),
        (rows, "load", "restore", "The restore is incomplete"),
        (past_due, "apply", "restore", "The restore is incomplete"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(change, name, lambda *arguments: os.kill(os.getpid(), number))
            target = tmp_path / "two.zip" if command == "backup" else file
            message = refusal(command, target, returncode=128 + number)
        assert message.startswith(f"Interrupted. {sentence}")
        assert list(tmp_path.iterdir()) == [file]
        assert name == "apply" or list(media_files()) == []


def test_a_signal_after_the_end_of_a_backup_does_not_deny_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(old: str, new: Path) -> None:
        Path(old).rename(new)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(os, "replace", replace)
    message = refusal("backup", tmp_path / "one.zip", returncode=128 + signal.SIGTERM)
    assert message == f"Interrupted. The backup {tmp_path / 'one.zip'} is complete."
    assert manifest(tmp_path / "one.zip")["format"] == 1


def test_a_backup_that_died_leaves_a_file_that_the_next_one_deletes(tmp_path: Path) -> None:
    interrupted, running = tmp_path / ".headline-2030.zip.a", tmp_path / ".headline-2030.zip.b"
    interrupted.touch()
    with running.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        backup(tmp_path)
        assert sorted(path.suffix for path in tmp_path.iterdir()) == [".b", ".zip"]


def test_images_without_files_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = Image(digest="1", width=1, height=1, size=1, format="png")
    image.file.name = image.path(image.original)
    Image.objects.bulk_create([image])
    file = backup(tmp_path)
    assert f"which the backup lacks: 1, such as {image.pk}/original.png" in capsys.readouterr().err
    assert manifest(file)["missing"] == [f"{image.pk}/original.png"]


@pytest.mark.thorough
def test_long_texts_are_not_in_memory_at_once() -> None:
    """Neither while they are read nor while they are restored."""
    number, length, name = 40, 1_000_000, "articles_image"
    size = {"width": 1, "height": 1, "size": 1}
    images = [Image(digest=str(one), file="x", **size, widths=["x" * length]) for one in range(number)]
    Image.objects.bulk_create(images, batch_size=5)
    lines = list(rows.dump(name))
    tracemalloc.start()
    try:
        assert sum(map(len, rows.dump(name))) > number * length
        rows.load(name, map(json.loads, lines))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert Image.objects.count() == number
    assert peak < number * length
