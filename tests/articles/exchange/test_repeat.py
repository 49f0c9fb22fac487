"""Repeated imports: after a change in the file, after an edit here, and after a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from articles import publishing
from articles.models import Article, Revision, SensitiveWord
from scheduling.models import TaskInfo
from tests.articles.factories import make_editor, make_release, make_user, publish_tasks, soon
from tests.articles.import_files import counts, run_import, write_lines
from tests.conftest import Manage, StartManage
from tests.harness import eventually

Status = Article.Status


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "articles.jsonl"


@pytest.mark.django_db
def test_a_repeated_import_skips_unchanged_articles(file: Path) -> None:
    write_lines(file, {"external_id": "1", "title": "One"}, {"title": "Without an id"})
    run_import(file)

    assert run_import(file).summary == counts(skipped=2)
    assert Article.objects.count() == 2


@pytest.mark.django_db
def test_a_repeated_import_updates_changed_articles(file: Path) -> None:
    write_lines(file, {"external_id": "1", "title": "One", "tags": "a"}, {"external_id": "2", "title": "Two"})
    run_import(file)
    write_lines(file, {"external_id": "1", "title": "Uno", "tags": "b"}, {"external_id": "2", "title": "Two"})

    assert run_import(file).summary == counts(updated=1, skipped=1)

    article = Article.objects.get(external_id="1")
    assert (article.title, [tag.name for tag in article.tags.all()]) == ("Uno", ["b"])


@pytest.mark.django_db
def test_a_changed_time_reschedules_the_task(file: Path) -> None:
    """R1.19"""
    first, second = soon(hours=1), soon(hours=2)
    write_lines(file, {"external_id": "1", "title": "One", "status": "scheduled", "publish_at": first.isoformat()})
    run_import(file)
    write_lines(file, {"external_id": "1", "title": "One", "status": "scheduled", "publish_at": second.isoformat()})

    run_import(file)

    assert publish_tasks(Article.objects.get()) == [second]


@pytest.mark.django_db
def test_an_article_that_a_repeated_import_publishes_late_goes_live_with_that(file: Path) -> None:
    record = {"external_id": "1", "title": "One", "publish_at": soon(hours=-2).isoformat()}
    write_lines(file, record)
    run_import(file)
    before = soon()
    write_lines(file, record | {"status": "approved"})

    run_import(file, "--past-due", "publish")

    assert before <= Article.objects.live(soon()).get().out_since <= soon()


@pytest.mark.django_db
def test_a_repeated_import_keeps_edits_made_here(file: Path) -> None:
    write_lines(file, {"external_id": "1", "title": "Teh harbour"})
    run_import(file)
    Article.objects.update(title="The harbour")

    assert run_import(file).summary == counts(skipped=1)
    assert Article.objects.get().title == "The harbour"


@pytest.mark.django_db
def test_under_the_two_person_rule_a_file_approves_no_text_that_readers_have(file: Path, settings: Any) -> None:
    settings.ARTICLES_TWO_PERSON_RULE = True
    record = {"external_id": "1", "status": "published", "published_at": soon(hours=-2).isoformat()}
    ada, bob = make_user("ada"), make_editor("bob")
    write_lines(file, record | {"title": "One", "author": "ada", "byline": "A. L."})
    run_import(file)
    write_lines(file, record | {"title": "Uno", "author": "bob"})
    assert run_import(file).summary == counts(updated=1)
    article = Article.objects.get()
    assert (article.title, article.author, article.byline) == ("One", ada, "A. L.")
    publishing.submit(article, by=bob)
    publishing.approve(article, by=make_editor("irene"), revision=article.revisions.latest("number"))
    publishing.publish_update(article, by=make_editor("irene2"))
    assert (Article.objects.get().title, Article.objects.get().author) == ("Uno", ada)


@pytest.mark.django_db
def test_an_imported_time_does_not_publish_an_article_before_its_release(file: Path) -> None:
    write_lines(file, {"external_id": "1", "title": "One"})
    run_import(file)
    make_release(Article.objects.get(), by=make_editor())
    due = soon(hours=1).isoformat()
    write_lines(file, {"external_id": "1", "title": "Uno", "status": "scheduled", "publish_at": due})

    run_import(file)

    article = Article.objects.get()
    assert (article.title, article.publish_at, publish_tasks(article)) == ("Uno", None, [])


@pytest.mark.cases(1)
@pytest.mark.django_db
@pytest.mark.parametrize("status", [Status.PUBLISHED, Status.UNPUBLISHED, Status.MANUALLY_APPROVED])
def test_an_unapproved_text_never_replaces_an_approved_one(file: Path, status: Status) -> None:
    """R5.3"""
    due = soon(hours=1).isoformat()
    write_lines(file, {"external_id": "1", "title": "One", "status": "draft", "publish_at": due})
    run_import(file)
    Article.objects.update(status=status)
    write_lines(file, {"external_id": "1", "title": "Uno", "status": "draft", "tags": ["port"]})

    assert run_import(file).summary == counts(updated=1)
    assert run_import(file).summary == counts(skipped=1)

    article = Article.objects.get()
    assert (article.title, article.status) == ("One", status)
    assert (article.update.draft.title, article.update.draft.tags) == ("Uno", ["port"])  # type: ignore[union-attr]


@pytest.mark.django_db
def test_a_text_that_is_changed_by_an_import_during_review_is_reviewed_again(file: Path) -> None:
    write_lines(file, {"external_id": "1", "title": "One"})
    run_import(file)
    Article.objects.update(status=Status.MANUAL_REVIEW)
    SensitiveWord.objects.create(text="casino", level=SensitiveWord.Level.BLOCK)
    write_lines(file, {"external_id": "1", "title": "Casino"})

    run_import(file)

    article = Article.objects.get()
    assert (article.title, article.status) == ("Casino", Status.REJECTED)


@pytest.mark.django_db
def test_an_import_does_not_undo_a_retraction(file: Path) -> None:
    write_lines(file, {"external_id": "1", "title": "One"})
    run_import(file)
    Article.objects.update(status=Status.RETRACTED)
    write_lines(file, {"external_id": "1", "title": "Uno"})

    run_import(file)

    assert (Article.objects.get().title, Article.objects.get().status) == ("One", Status.RETRACTED)


@pytest.mark.django_db
def test_an_imported_text_is_the_first_revision_and_a_changed_one_the_next(file: Path) -> None:
    other = {"external_id": "2", "title": "x"}
    write_lines(file, {"external_id": "1", "title": "One", "tags": ["tram", "Port"]}, other)
    run_import(file)
    article = Article.objects.get(external_id="1")
    assert [(one.number, one.title, one.tags, one.note) for one in article.revisions.all()] == [
        (1, "One", ["Port", "tram"], "Imported")
    ]
    assert article.revision == 1
    publishing.submit(article, by=make_editor())
    assert article.revisions.count() == 1, "the revision holds what the columns hold"

    Article.objects.filter(pk=article.pk).update(status=Status.DRAFT, summary="Improved here")
    write_lines(file, {"external_id": "1", "title": "Uno", "tags": ["tram"]}, other)
    run_import(file)
    article.refresh_from_db()
    found = article.revisions.order_by("number").values_list("number", "title", "summary", "tags")
    assert list(found) == [
        (1, "One", "", ["Port", "tram"]),
        (2, "One", "Improved here", ["Port", "tram"]),
        (3, "Uno", "", ["tram"]),
    ]
    assert article.revision == 3
    assert Article.objects.get(external_id="2").revisions.count() == 1


@pytest.mark.django_db
def test_the_history_shows_what_was_imported(file: Path, client: Client) -> None:
    write_lines(file, {"external_id": "1", "title": "One", "body": "<p>The ferry is late.</p>"})
    run_import(file)
    client.force_login(make_editor())
    address = f"/admin/articles/article/{Article.objects.get().pk}/revisions/"
    assert "Imported" in client.get(address).text
    assert "The ferry is late." in client.get(f"{address}1/").text


@pytest.mark.django_db
def test_importing_and_repeating_takes_few_statements_for_any_number(
    file: Path, django_assert_max_num_queries: Any
) -> None:
    def lines(prefix: str, count: int) -> list[dict[str, Any]]:
        return [{"external_id": str(n), "title": f"{prefix} {n}", "tags": ["tram"]} for n in range(count)]

    write_lines(file, *lines("One", 200))
    with django_assert_max_num_queries(60):
        run_import(file)
    write_lines(file, *lines("Two", 200))
    with django_assert_max_num_queries(60):
        run_import(file)
    assert Revision.objects.filter(number=2, title__startswith="Two").count() == 200


@pytest.mark.django_db
@pytest.mark.parametrize("status", [Status.PUBLISHED, Status.UNPUBLISHED, Status.REJECTED, Status.MANUALLY_APPROVED])
def test_a_repeated_import_changes_the_text_but_not_the_state_set_here(file: Path, status: Status) -> None:
    due = soon(hours=1).isoformat()
    write_lines(file, {"external_id": "1", "title": "One", "status": "scheduled", "publish_at": due})
    run_import(file)
    Article.objects.update(status=status)
    write_lines(file, {"external_id": "1", "title": "Uno", "status": "scheduled", "publish_at": due})

    assert run_import(file).summary == counts(updated=1)

    article = Article.objects.get()
    assert (article.title, article.status) == ("Uno", status)


@pytest.mark.django_db
def test_a_repeated_import_never_unpublishes_a_live_article(file: Path) -> None:
    """Its worker is late, but its time has come: it is live."""
    due = soon(seconds=-1).isoformat()
    write_lines(file, {"external_id": "1", "title": "One", "status": "scheduled", "publish_at": due})
    run_import(file, "--past-due", "publish")
    write_lines(file, {"external_id": "1", "title": "Uno", "status": "draft"})

    run_import(file)

    assert Article.objects.get().status == Status.APPROVED


@pytest.mark.django_db
def test_publishing_a_held_article_by_a_repeated_import_keeps_its_text(file: Path) -> None:
    write_lines(file, {"title": "Teh ferry", "status": "future", "publish_at": "2026-01-01T07:00:00Z"})
    run_import(file)
    Article.objects.update(title="The ferry")

    run_import(file, "--past-due", "publish")

    article = Article.objects.get()
    assert (article.title, article.status) == ("The ferry", Status.APPROVED)


@pytest.mark.django_db
def test_a_time_chosen_here_is_kept_by_a_repeated_import(file: Path) -> None:
    first, chosen = soon(hours=1), soon(hours=3)
    record = {"external_id": "1", "status": "scheduled", "publish_at": first.isoformat()}
    write_lines(file, {**record, "title": "One"})
    run_import(file)
    article = Article.objects.get()
    article.publish_at = chosen
    article.save()

    for title in ("Two", "Three"):
        write_lines(file, {**record, "title": title})
        run_import(file)

    assert publish_tasks(article) == [chosen]
    assert Article.objects.get().title == "Three"


@pytest.mark.django_db
def test_the_same_id_twice_in_a_file_is_a_mistake(file: Path) -> None:
    write_lines(file, {"external_id": "1", "title": "One"}, {"external_id": "1", "title": "Two"})

    result = run_import(file)

    assert result.summary == counts(created=1, failed=1)
    assert result.remarks == ['line 2: failed: external_id: "1" is in the file already; give each article its own']


@pytest.mark.django_db
def test_a_duplicate_record_without_an_id_is_imported_once(file: Path) -> None:
    write_lines(file, {"title": "One"}, {"title": "One"})

    assert run_import(file).summary == counts(created=1, skipped=1)


def test_an_interrupted_import_is_completed_by_repeating_it(
    file: Path, start_manage: StartManage, manage: Manage
) -> None:
    due = soon(hours=1).isoformat()
    records = ({"external_id": str(n), "title": f"Story {n}", "status": "8", "publish_at": due} for n in range(3000))
    write_lines(file, *records)

    process = start_manage("import_articles", str(file))
    eventually(Article.objects.exists)
    process.kill()
    after_the_kill = Article.objects.count()

    assert after_the_kill % 500 == 0, "a chunk came in by halves"
    assert TaskInfo.objects.count() == after_the_kill
    assert after_the_kill < 3000, "it was over before it was killed"
    repeat = manage("import_articles", str(file))
    assert repeat.stdout.splitlines()[-1] == counts(created=3000 - after_the_kill, skipped=after_the_kill)
    assert Article.objects.count() == TaskInfo.objects.count() == 3000


@pytest.mark.django_db
def test_ids_that_differ_in_case_or_accents_only_are_different(file: Path) -> None:
    ids = ["aB3", "ab3", "áb3", "😀", "😎"]
    write_lines(file, *({"external_id": id_, "title": id_} for id_ in ids))

    assert run_import(file).summary == counts(created=5)
    assert run_import(file).summary == counts(skipped=5)
