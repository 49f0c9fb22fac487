"""Imports of valid and invalid records, whatever their format."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection

from articles.models import Article, Channel
from scheduling.models import TaskInfo
from tests.articles.factories import make_channel, make_user, publish_tasks, soon, unpublish_tasks
from tests.articles.import_files import counts, run_import, write_lines

pytestmark = pytest.mark.django_db
Status = Article.Status


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "articles.jsonl"


def test_it_imports_every_field(file: Path) -> None:
    alice = make_user("alice")
    write_lines(
        file,
        {
            "external_id": "gazette-7",
            "title": "Ferry fares frozen",
            "slug": "ferry-fares",
            "summary": "Until spring.",
            "body": "<p>The council agreed.</p>",
            "status": "published",
            "publish_at": "2026-03-01T08:00:00+08:00",
            "unpublish_at": "2126-03-01T00:00:00Z",
            "author": "alice",
            "byline": "Our harbour desk",
            "channel": "港口",
            "tags": ["ferries", "fares"],
        },
    )

    result = run_import(file)

    assert (result.code, result.lines) == (0, [counts(created=1)])
    article = Article.objects.get()
    assert (article.title, article.slug, article.summary) == ("Ferry fares frozen", "ferry-fares", "Until spring.")
    assert (article.body, article.byline, article.author) == (
        "<p>The council agreed.</p>",
        "Our harbour desk",
        alice,
    )
    assert article.status == Status.PUBLISHED
    assert article.publish_at == article.published_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert (article.channel, {tag.name for tag in article.tags.all()}) == (
        Channel.objects.get(name="港口"),
        {"ferries", "fares"},
    )
    assert unpublish_tasks(article) == [datetime(2126, 3, 1, tzinfo=UTC)]


def test_a_scheduled_article_gets_its_task(file: Path) -> None:
    """R0.1"""
    due = soon(hours=2)
    write_lines(file, {"title": "Bridge opens", "status": "scheduled", "publish_at": due.isoformat()})

    run_import(file)

    article = Article.objects.get()
    assert article.status == Status.APPROVED
    assert publish_tasks(article) == [due]


def test_a_published_article_keeps_its_date_and_gets_no_task(file: Path) -> None:
    write_lines(file, {"title": "Old news", "status": "publish", "publish_at": "2020-01-01T00:00:00Z"})

    run_import(file)

    article = Article.objects.get()
    assert article.published_at == datetime(2020, 1, 1, tzinfo=UTC)
    assert not TaskInfo.objects.exists()


def test_published_in_the_future_waits_for_its_time(file: Path) -> None:
    due = soon(hours=2)
    write_lines(file, {"title": "Not yet", "status": "published", "publish_at": due.isoformat()})

    run_import(file)

    article = Article.objects.get()
    assert (article.status, publish_tasks(article)) == (Status.APPROVED, [due])


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("", Status.DRAFT),
        ("draft", Status.DRAFT),
        ("private", Status.DRAFT),
        ("pending", Status.MANUAL_REVIEW),
        ("Submitted", Status.MANUAL_REVIEW),
        ("REJECTED", Status.REJECTED),
        ("8", Status.APPROVED),
        ("manually_approved", Status.MANUALLY_APPROVED),
        ("unpublished", Status.UNPUBLISHED),
    ],
)
def test_statuses_are_read_by_name_number_and_wordpress_name(file: Path, word: str, status: Status) -> None:
    write_lines(file, {"title": "Harbour", "status": word})

    assert run_import(file).code == 0
    assert Article.objects.get().status == status


def test_a_past_due_article_is_held_as_a_draft_and_named(file: Path) -> None:
    write_lines(file, {"title": "Missed", "status": "future", "publish_at": "2026-01-01T07:00:00Z"})

    result = run_import(file)

    assert Article.objects.get().status == Status.DRAFT
    assert (result.code, result.remarks) == (
        0,
        ["line 1: note: was due at 2026-01-01 07:00:00 UTC; imported as a draft"],
    )


def test_a_past_due_article_is_published_at_once_when_asked(file: Path) -> None:
    """R0.2"""
    write_lines(file, {"title": "Missed", "status": "future", "publish_at": "2026-01-01T07:00:00Z"})

    run_import(file, "--past-due", "publish")

    article = Article.objects.get()
    assert article.status == Status.APPROVED
    assert publish_tasks(article) == [datetime(2026, 1, 1, 7, tzinfo=UTC)]


def test_past_due_articles_are_rescheduled_one_a_minute_when_asked(file: Path) -> None:
    missed = {"status": "future", "publish_at": "2026-01-01T07:00:00Z"}
    write_lines(file, *({"title": f"Missed {number}", **missed} for number in range(3)))

    run_import(file, "--past-due", "reschedule")

    first, second, third = [time for article in Article.objects.order_by("pk") for time in publish_tasks(article)]
    assert second - first == third - second == timedelta(minutes=1)
    assert first > soon(minutes=-1)
    assert first.second == first.microsecond == 0


def test_a_held_article_can_be_published_by_a_repeat(file: Path) -> None:
    write_lines(file, {"title": "Missed", "status": "future", "publish_at": "2026-01-01T07:00:00Z"})
    run_import(file)

    assert run_import(file).summary == counts(skipped=1)
    assert run_import(file, "--past-due", "publish").summary == counts(updated=1)
    assert Article.objects.get().status == Status.APPROVED


def test_an_embargo_in_the_future_is_not_past_due(file: Path) -> None:
    until = soon(hours=1)
    write_lines(
        file,
        {
            "title": "Budget",
            "status": "scheduled",
            "publish_at": "2026-01-01T07:00:00Z",
            "embargo_until": until.isoformat(),
        },
    )

    run_import(file)

    assert publish_tasks(Article.objects.get()) == [until]


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"title": "  "}, "title: is empty"),
        ({"title": ["a"]}, "title: is not a text"),
        ({"body": "x" * 1_000_001}, "body: has 1000001 characters; shorten it to 1000000"),
        ({"status": "live"}, 'status: "live" is not known; use one of approved, draft, future'),
        ({"status": "scheduled"}, "publish_at: is missing; a scheduled article needs a publication time"),
        ({"cover_mode": "two"}, 'cover_mode: "two" is not known; use one of none, one, three, auto'),
        ({"cover_mode": "three", "cover": ["x"]}, "cover: has 1 images instead of 3"),
        ({"body_format": "rtf"}, 'body_format: "rtf" is not known; write html, or leave it out'),
        ({"tags": 7}, "tags: is neither a list nor a text"),
        ({"title": "half \ud83d"}, "title: contains half a character"),
        (
            {"publish_at": "2026-01-02T00:00:00Z", "unpublish_at": "2026-01-01T00:00:00Z"},
            "unpublish_at: comes before the article goes live",
        ),
    ],
)
def test_a_bad_field_is_reported_with_its_place_and_the_others_are_imported(
    file: Path, fields: dict[str, object], complaint: str
) -> None:
    encoded = {name: value for name, value in fields.items() if "\ud83d" not in str(value)}
    bad = r'{"title": "half \ud83d"}' if encoded != fields else {"title": "Bad", **fields}
    write_lines(file, {"title": "First"}, bad, {"title": "Third"})

    result = run_import(file)

    assert result.code == 1
    assert result.summary == counts(created=2, failed=1)
    assert result.remarks[0].startswith(f"line 2: failed: {complaint}")
    assert {article.title for article in Article.objects.all()} == {"First", "Third"}


def test_the_channel_can_be_given_for_all(file: Path) -> None:
    make_channel("Archive", position=5)
    write_lines(file, {"title": "One", "channel": "Sport"}, {"title": "Two"})

    run_import(file, "--channel", "Archive")

    assert {article.channel.name for article in Article.objects.select_related("channel") if article.channel} == {
        "Archive"
    }
    assert Channel.objects.count() == 1


def test_a_new_channel_comes_last_and_finds_a_free_slug(file: Path) -> None:
    make_channel("C", position=5)
    write_lines(file, {"title": "One", "channel": "C++"})

    run_import(file)

    channel = Channel.objects.get(name="C++")
    assert (channel.slug, channel.position) == ("c-2", 6)


def test_users_are_found_by_name_or_address_and_unknown_authors_become_a_byline(file: Path) -> None:
    alice = make_user("alice")
    bob = make_user("bob")
    bob.email = "bob@gazette.example"
    bob.save()
    names = ["alice", "Bob@gazette.example", "Zhou Min", "stranger@gazette.example"]
    write_lines(file, *({"title": f"Story {number}", "author": name} for number, name in enumerate(names)))

    run_import(file)

    articles = Article.objects.order_by("pk")
    assert [(article.author, article.byline) for article in articles] == [
        (alice, ""),
        (bob, ""),
        (None, "Zhou Min"),
        (None, ""),
    ]


def test_two_articles_may_share_a_slug_and_one_without_gets_it_from_its_title(file: Path) -> None:
    write_lines(file, {"title": "港珠澳大桥 reopens!"}, {"title": "A", "slug": "a"}, {"title": "B", "slug": "a"})

    run_import(file)

    assert [article.slug for article in Article.objects.order_by("pk")] == ["港珠澳大桥-reopens", "a", "a"]


def test_a_misspelt_field_is_reported_once(file: Path) -> None:
    write_lines(file, {"title": "One", "publihs_at": "x"}, {"title": "Two", "publihs_at": "x"})

    result = run_import(file)

    assert result.remarks == ['note: the unknown field "publihs_at" of 2 records is ignored']
    assert result.code == 0


def test_a_dry_run_counts_and_complains_but_stores_nothing(file: Path) -> None:
    due = soon(hours=1).isoformat()
    write_lines(
        file, {"title": "One", "channel": "New", "tags": "new", "status": "scheduled", "publish_at": due}, {"title": ""}
    )

    result = run_import(file, "--dry-run")

    assert (result.code, result.summary) == (1, counts(created=1, failed=1))
    assert not Article.objects.exists()
    assert not Channel.objects.exists()
    assert not TaskInfo.objects.exists()


def test_a_database_failure_leaves_the_chunk_out_and_the_import_goes_on(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The good articles of a chunk are in with their tasks, or none of the chunk is."""
    monkeypatch.setattr("articles.exchange.importer.CHUNK", 2)
    make_channel("taken", slug="free")
    titles = ["One", "Two", "Three", "Four", "Five"]
    write_lines(file, *({"title": title, "tags": title} for title in titles))

    with connection.execute_wrapper(_refuse_tag_three):
        result = run_import(file)

    assert result.code == 1
    assert result.summary == counts(created=3, failed=2)
    assert result.remarks[0].startswith(
        "line 3 to line 4: failed: none of these 2 articles was imported because of a database error"
    )
    assert {article.title for article in Article.objects.all()} == {"One", "Two", "Five"}


def _refuse_tag_three(execute, sql, params, many, context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
    if sql.startswith("INSERT") and "articles_tag" in sql and "Three" in params:
        sql, params = "INSERT INTO no_such_table VALUES (1)", ()
    return execute(sql, params, many, context)


def test_half_a_character_does_not_stop_the_report(file: Path) -> None:
    write_lines(file, r'{"title": "One", "\ud83d": 1, "status": "\ud83d"}', r'{"title": "Two", "\ud83d": 1}')

    result = run_import(file)

    assert (result.code, result.summary) == (1, counts(created=1, failed=1))
    assert result.remarks[0].startswith("line 1: failed: status: contains half a character")


def test_progress_goes_to_the_error_stream(file: Path) -> None:
    write_lines(file, {"title": "One"}, {"title": "Two"})

    assert "2 of 2 read" in run_import(file).error
