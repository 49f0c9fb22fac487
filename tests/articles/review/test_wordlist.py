"""Sensitive words: adding them one by one, in bulk and from files, and refreshing every process."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client

from articles.models import AuditEntry, SensitiveWord
from articles.review.wordlist import add_words
from articles.review.words import matcher
from tests.articles.factories import make_user
from tests.conftest import Manage

pytestmark = pytest.mark.django_db

Level = SensitiveWord.Level
WORDS = "/admin/articles/sensitiveword/"


def run_import(path: Path, level: str = "block") -> tuple[int, list[str]]:
    out = StringIO()
    try:
        call_command("import_words", str(path), "--level", level, stdout=out)
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue().splitlines()
    return 0, out.getvalue().splitlines()


def write(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_words_are_imported_and_exported(tmp_path: Path) -> None:
    file = write(tmp_path / "words.txt", "\ufeff法轮功", "", "  ", "casino", "White Power")
    assert run_import(file) == (0, ["created=3 skipped=0 failed=0"])
    assert run_import(file)[1][-1] == "created=0 skipped=3 failed=0"
    out = StringIO()
    call_command("export_words", str(tmp_path / "out.txt"), "--level", "block", stdout=out)
    assert out.getvalue() == "exported=3\n"
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines() == ["casino", "White Power", "法轮功"]
    call_command("export_words", "-", "--level", "block", stdout=(shown := StringIO()))
    assert shown.getvalue().splitlines() == ["casino", "White Power", "法轮功"]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("赌", "line 1: failed: “赌” a single character is in almost every article"),
        ("！！！", "line 1: failed: “！！！” has neither a letter nor a digit"),
        ("cas.*no", "line 1: failed: “cas.*no” looks like a pattern; write the word itself"),
        ("[赌睹]博", "line 1: failed: “[赌睹]博” looks like a pattern"),
        ("长" * 10_000, f"line 1: failed: “{'长' * 40}…” longer than 100 characters"),
    ],
)
def test_a_line_that_cannot_be_a_word_is_named_and_the_others_come_in(
    line: str, complaint: str, tmp_path: Path
) -> None:
    code, lines = run_import(write(tmp_path / "words.txt", line, "casino"))
    assert code == 1
    assert lines[0].startswith(complaint)
    assert lines[-1] == "created=1 skipped=0 failed=1"


def test_a_word_in_another_spelling_is_the_same_word(tmp_path: Path) -> None:
    code, lines = run_import(write(tmp_path / "words.txt", "法轮功", "法 輪 功", "ＣＡＳＩＮＯ", "casino"))
    assert (code, lines[-1]) == (0, "created=2 skipped=2 failed=0")
    assert lines[0] == "line 2: note: “法 輪 功” is in the list already, possibly in another spelling"
    code, lines = run_import(write(tmp_path / "more.txt", "casino"), level="review")
    assert (code, lines[-1]) == (1, "created=0 skipped=0 failed=1")
    assert "as “Blocks the article”" in lines[0]


def test_a_file_that_cannot_be_read_brings_nothing(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_bytes("casino\n法轮功\n".encode("gb18030"))
    for name in ("words.txt", "missing.txt"):
        with pytest.raises(CommandError) as error:
            run_import(tmp_path / name)
        assert error.value.returncode == 2
    assert not SensitiveWord.objects.exists()


@pytest.mark.thorough
def test_tens_of_thousands_come_in_at_once() -> None:
    report = add_words((f"palabra{number}x" for number in range(20_000)), level=Level.BLOCK)
    assert str(report) == "created=20000 skipped=0 failed=0"
    assert [match.word for match in matcher().find("see palabra19999x.")] == ["palabra19999x"]


def test_the_words_found_are_those_of_now() -> None:
    text = "A casino and a lottery."
    assert matcher().find(text) == []
    casino = SensitiveWord.objects.create(text="casino")
    assert matcher() is matcher()
    assert [match.word for match in matcher().find(text)] == ["casino"]
    casino.text = "lottery"
    casino.save()
    assert [match.word for match in matcher().find(text)] == ["lottery"]
    SensitiveWord.objects.update(level=Level.ALLOW)
    assert matcher().find(text) == []
    SensitiveWord.objects.all().delete()
    add_words(["casino"], level=Level.BLOCK)
    assert [match.word for match in matcher().find(text)] == ["casino"]
    SensitiveWord.objects.get().delete()
    assert matcher().find(text) == []


@pytest.mark.thorough
@pytest.mark.django_db(transaction=True)
def test_a_process_hears_of_words_that_another_one_adds(tmp_path: Path, manage: Manage) -> None:
    assert matcher().find("A casino.") == []
    done = manage("import_words", str(write(tmp_path / "words.txt", "casino")), "--level", "block")
    assert (done.returncode, done.stdout) == (0, "created=1 skipped=0 failed=0\n")
    assert [match.word for match in matcher().find("A casino.")] == ["casino"]


@pytest.fixture
def chief(client: Client) -> Client:
    client.force_login(
        make_user(
            "chief",
            "view_sensitiveword",
            "add_sensitiveword",
            "change_sensitiveword",
            "delete_sensitiveword",
            "view_auditentry",
        )
    )
    return client


def test_a_word_is_added_on_its_screen_or_refused_with_the_reason(chief: Client) -> None:
    chief.post(f"{WORDS}add/", {"text": "法轮功", "level": "block"})
    assert SensitiveWord.objects.get().level == Level.BLOCK
    for text, complaint in [
        ("法 輪 功", "“法轮功” is already on the list, as “Blocks the article”."),
        ("赌", "Invalid entry: a single character"),
        ("   ", "This field is required."),
        ("长" * 10_000, "at most 100 characters"),
        (".*", "Invalid entry"),
    ]:
        assert complaint in chief.post(f"{WORDS}add/", {"text": text, "level": "block"}).content.decode()
    assert SensitiveWord.objects.count() == 1


def test_words_are_found_in_any_spelling(chief: Client) -> None:
    SensitiveWord.objects.create(text="法轮功")
    assert "法轮功" in chief.get(WORDS, {"q": "輪 功"}).content.decode()
    assert "法轮功" not in chief.get(WORDS, {"q": "casino"}).content.decode()


def test_many_words_are_pasted_and_each_that_is_refused_is_named(chief: Client) -> None:
    typed = {"level": "review", "words": "casino\n\n赌\nCASINO\nlottery"}
    page = chief.post(f"{WORDS}add-many/", typed).content.decode()
    assert "2 added, 1 already on the list, 1 invalid." in page
    assert "Line 3:" in page
    assert {word.text: word.level for word in SensitiveWord.objects.all()} == {"casino": "review", "lottery": "review"}


def test_a_list_that_is_fetched_can_be_sent_in_again(chief: Client) -> None:
    add_words(["casino", "赌博"], level=Level.REVIEW)
    fetched = chief.get(f"{WORDS}export/review/")
    assert fetched["Content-Disposition"] == 'attachment; filename="words-review.txt"'
    assert sorted(fetched.text.splitlines()) == ["casino", "赌博"]
    SensitiveWord.objects.all().delete()
    file = SimpleUploadedFile("words.txt", "\ufeff".encode() + fetched.content)
    page = chief.post(f"{WORDS}add-many/", {"level": "block", "words": "lottery", "file": file}).text
    assert "3 added" in page
    assert set(SensitiveWord.objects.values_list("text", "level")) == {
        (text, "block") for text in ("casino", "赌博", "lottery")
    }


@pytest.mark.parametrize(
    ("content", "sentence"), [(b"caf\xe9\n", "not in UTF-8 (byte 3)"), (b"\n \n", "Paste words or choose a file")]
)
def test_a_file_that_brings_no_words_is_refused_with_what_to_do(chief: Client, content: bytes, sentence: str) -> None:
    file = SimpleUploadedFile("words.txt", content)
    assert sentence in chief.post(f"{WORDS}add-many/", {"level": "block", "words": "", "file": file}).text
    assert not SensitiveWord.objects.exists()


def test_words_are_for_those_who_may_change_them(client: Client) -> None:
    client.force_login(make_user("bob", "view_article"))
    assert client.get(WORDS).status_code == 403
    assert client.get(f"{WORDS}add-many/").status_code == 403
    assert client.get(f"{WORDS}export/block/").status_code == 403


def entry() -> AuditEntry:
    return AuditEntry.objects.latest("id")


def test_the_audit_log_shows_who_added_changed_and_deleted_which_words(chief: Client) -> None:
    chief.post("/admin/articles/sensitiveword/add/", {"text": "casino", "level": "review"})
    assert (entry().action, entry().user_name, entry().source) == ("add_words", "chief", "admin")
    assert entry().details == {"old": {}, "new": {"casino": "review"}}
    word = SensitiveWord.objects.get()
    chief.post(f"/admin/articles/sensitiveword/{word.pk}/change/", {"text": "Casino!", "level": "block"})
    assert (entry().action, entry().details) == (
        "change_words",
        {"old": {"casino": "review"}, "new": {"Casino!": "block"}},
    )
    assert entry().differences() == ["casino (Needs human review) → Casino! (Blocks the article)"]
    chief.post(f"/admin/articles/sensitiveword/{word.pk}/change/", {"text": "Casino!", "level": "block"})
    assert AuditEntry.objects.filter(action="change_words").count() == 1, "nothing was changed"
    chief.post("/admin/articles/sensitiveword/add-many/", {"words": "赌博\n法轮功", "level": "allow"})
    assert entry().details["new"] == {"赌博": "allow", "法轮功": "allow"}
    chosen = {"action": "delete_selected", "_selected_action": [word.pk], "post": "yes"}
    chief.post("/admin/articles/sensitiveword/", chosen)
    assert (entry().action, entry().user_name, entry().details["old"]) == (
        "delete_words",
        "chief",
        {"Casino!": "block"},
    )
    chief.post(f"/admin/articles/sensitiveword/{SensitiveWord.objects.first().pk}/delete/", {"post": "yes"})  # type: ignore[union-attr]
    assert len(entry().details["old"]) == 1
    page = chief.get("/admin/articles/auditentry/", {"action": "change_words"}).text
    assert "casino (Needs human review) → Casino! (Blocks the article)" in page


def test_the_audit_log_shows_which_words_a_command_imported(tmp_path: Path) -> None:
    make_user("irene")
    file = tmp_path / "words.txt"
    file.write_text("".join(f"word {number}\n" for number in range(1500)))
    call_command("import_words", str(file), "--level", "block", "--by", "irene", stdout=StringIO())
    entries = AuditEntry.objects.filter(action="add_words")
    assert {(one.source, one.user_name) for one in entries} == {("command", "irene")}
    assert len(set().union(*(one.details["new"] for one in entries))) == 1500
    out = StringIO()
    call_command("audit", "list", "--action", "add_words", stdout=out)
    assert "word 0 (Blocks the article), " in out.getvalue()
    assert "… and 995 more." in out.getvalue()
    export = tmp_path / "audit.jsonl"
    call_command("audit", "export", str(export), stderr=StringIO())
    assert json.loads(export.read_text().splitlines()[0])["details"]["new"]["word 7"] == "block"


def test_no_one_imports_words_in_the_name_of_a_stranger(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("casino")
    with pytest.raises(CommandError, match="There is no user"):
        call_command("import_words", str(tmp_path / "words.txt"), "--level", "block", "--by", "nobody")
    assert not SensitiveWord.objects.exists()


def test_words_changed_by_code_are_recorded_too() -> None:
    SensitiveWord.objects.bulk_create([SensitiveWord(text="赌博", normalised="赌博")])
    SensitiveWord.objects.update(level=SensitiveWord.Level.BLOCK)
    assert entry().details == {"old": {"赌博": "review"}, "new": {"赌博": "block"}}
    SensitiveWord.objects.get().delete()
    assert (entry().action, entry().source, entry().details["old"]) == ("delete_words", "python", {"赌博": "block"})
